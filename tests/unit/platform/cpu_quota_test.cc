// SPDX-License-Identifier: Apache-2.0
#include "platform/cpu_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gg {
namespace {

// A control group file system of our own.
class CgroupCpuLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "gg-cgroup-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    paths_.proc_self_cgroup = (folder_ / "self").string();
    paths_.root = (folder_ / "fs").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::filesystem::path folder_;
  CgroupPaths paths_;
};

TEST_F(CgroupCpuLimitTest, V2TakesTheTightestLevel) {
  Write("self", "0::/a/b\n");
  Write("fs/a/b/cpu.max", "max 100000\n");
  Write("fs/a/cpu.max", "150000 100000\n");
  Write("fs/cpu.max", "400000 100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuLimit(paths_), 1.5);
}

TEST_F(CgroupCpuLimitTest, V2InsideAContainerReadsTheRootOfTheMount) {
  Write("self", "0::/not/visible/here\n");
  Write("fs/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuLimit(paths_), 2);
}

TEST_F(CgroupCpuLimitTest, V1ReadsQuotaAndPeriod) {
  Write("self", "5:memory:/x\n4:cpu,cpuacct:/x\n");
  Write("fs/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
  Write("fs/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuLimit(paths_), 0.5);
  EXPECT_EQ(UsableCpus(paths_), 1);
}

TEST_F(CgroupCpuLimitTest, NoQuotaIsNoLimit) {
  EXPECT_EQ(CgroupCpuLimit(paths_), 0);
  Write("self", "4:cpu:/x\n0::/x\n");
  Write("fs/cpu/x/cpu.cfs_quota_us", "-1\n");
  Write("fs/cpu/x/cpu.cfs_period_us", "100000\n");
  Write("fs/x/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuLimit(paths_), 0);
  EXPECT_EQ(UsableCpus(paths_), AffinityCpus());
}

TEST_F(CgroupCpuLimitTest, NonsenseIsNoLimit) {
  Write("self", "nonsense\n0::relative\n:::\n");
  Write("fs/cpu.max", "a b c\n");
  EXPECT_EQ(CgroupCpuLimit(paths_), 0);
  Write("self", "0::/\n");
  EXPECT_EQ(CgroupCpuLimit(paths_), 0);
  Write("fs/cpu.max", "100000 0\n");
  EXPECT_EQ(CgroupCpuLimit(paths_), 0);
}

TEST_F(CgroupCpuLimitTest, NeverMoreThanTheAffinityAllows) {
  Write("self", "0::/\n");
  Write("fs/cpu.max", "99999900000 100000\n");
  EXPECT_EQ(UsableCpus(paths_), AffinityCpus());
}

TEST(UsableCpus, OfThisProcessIsAtLeastOne) {
  EXPECT_GE(UsableCpus(), 1);
}

}  // namespace
}  // namespace gg
