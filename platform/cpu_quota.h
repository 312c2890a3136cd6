// SPDX-License-Identifier: Apache-2.0
//
// How many CPUs this process may really use: the affinity mask and the CPU quotas of its control
// groups (v1 and v2, every level up to the root), not the number of CPUs of the machine. A
// container with a quota of 2 on a 64-core host gets 2. Thread-safety: pure reads of the system.
#ifndef GOSSIPGRAD_PLATFORM_CPU_QUOTA_H_
#define GOSSIPGRAD_PLATFORM_CPU_QUOTA_H_

#include <string>

namespace gg {

// Where the kernel tells; tests put a tree of their own here.
struct CgroupPaths {
  std::string proc_self_cgroup = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// The tightest CPU quota, in CPUs (1.5 = one and a half); 0 = no quota, or none that can be read.
double CgroupCpuLimit(const CgroupPaths& paths = {});

// CPUs in this thread's affinity mask, at least 1.
int AffinityCpus();

// Threads worth starting: min of both, the quota rounded up; at least 1.
int UsableCpus(const CgroupPaths& paths = {});

}  // namespace gg

#endif  // GOSSIPGRAD_PLATFORM_CPU_QUOTA_H_
