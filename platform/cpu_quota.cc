// SPDX-License-Identifier: Apache-2.0
#include "platform/cpu_quota.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace gg {
namespace {

// "" when it cannot be read. Files of the cgroup file system are a line or two.
std::string ReadSmallFile(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  if (in) out << in.rdbuf();
  return out.str();
}

// The smaller of two limits, where 0 means none.
double Tighter(double a, double b) {
  if (a <= 0) return b;
  if (b <= 0) return a;
  return std::min(a, b);
}

// v2 "cpu.max": "200000 100000" or "max 100000".
double LimitV2(const std::string& folder) {
  const std::string text = ReadSmallFile(absl::StrCat(folder, "/cpu.max"));
  const std::vector<std::string> parts = absl::StrSplit(absl::StripAsciiWhitespace(text), ' ');
  double quota = 0, period = 0;
  if (parts.size() != 2 || !absl::SimpleAtod(parts[0], &quota) ||
      !absl::SimpleAtod(parts[1], &period))
    return 0;
  return quota > 0 && period > 0 ? quota / period : 0;
}

// v1: two files; a quota of -1 means none.
double LimitV1(const std::string& folder) {
  double quota = 0, period = 0;
  if (!absl::SimpleAtod(ReadSmallFile(absl::StrCat(folder, "/cpu.cfs_quota_us")), &quota)) return 0;
  if (!absl::SimpleAtod(ReadSmallFile(absl::StrCat(folder, "/cpu.cfs_period_us")), &period))
    return 0;
  return quota > 0 && period > 0 ? quota / period : 0;
}

// From the process's group up to the root: the kernel enforces every level. Inside a container the
// path of /proc may not exist below the mount; then only the root, which is the container's own
// group, answers.
double LimitUpwards(const std::string& mount, absl::string_view group,
                    double (*limit_of)(const std::string&)) {
  double limit = 0;
  while (true) {
    limit = Tighter(limit, limit_of(absl::StrCat(mount, group == "/" ? "" : group)));
    if (group.empty() || group == "/") return limit;
    group = group.substr(0, group.rfind('/'));
  }
}

}  // namespace

double CgroupCpuLimit(const CgroupPaths& paths) {
  double limit = 0;
  const std::string table = ReadSmallFile(paths.proc_self_cgroup);
  for (const absl::string_view line : absl::StrSplit(table, '\n', absl::SkipEmpty())) {
    // "0::/group" (v2) or "4:cpu,cpuacct:/group" (v1).
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || !absl::StartsWith(parts[2], "/")) continue;
    if (parts[1].empty()) {
      limit = Tighter(limit, LimitUpwards(paths.root, parts[2], LimitV2));
      continue;
    }
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "cpu") == controllers.end()) continue;
    limit = Tighter(limit, LimitUpwards(absl::StrCat(paths.root, "/cpu"), parts[2], LimitV1));
    limit =
        Tighter(limit, LimitUpwards(absl::StrCat(paths.root, "/", parts[1]), parts[2], LimitV1));
  }
  return limit;
}

int AffinityCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more CPUs than cpu_set_t holds; then the number of CPUs is the best
  // answer.
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

int UsableCpus(const CgroupPaths& paths) {
  const double limit = CgroupCpuLimit(paths);
  const int affinity = AffinityCpus();
  if (limit <= 0) return affinity;
  return std::clamp(static_cast<int>(std::ceil(std::min(limit, 1e6))), 1, affinity);
}

}  // namespace gg
