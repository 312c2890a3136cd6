// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device.h"

namespace gg {
namespace {

using testing::HasSubstr;

TEST(DeviceRegistryTest, ReferenceIsAlwaysThere) {
  auto device = MakeDevice("reference", {});
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->name(), "reference");
}

TEST(DeviceRegistryTest, AutoTakesTheFastestThatIsBuiltIn) {
  auto device = MakeDevice("auto", {});
  ASSERT_TRUE(device.ok()) << device.status();
#ifdef GG_HAVE_ONEDNN
  EXPECT_EQ((*device)->name(), "onednn");
#else
  EXPECT_EQ((*device)->name(), "reference");
#endif
}

#ifndef GG_HAVE_ONEDNN
TEST(DeviceRegistryTest, ADeviceThatIsNotBuiltInSaysHowToGetIt) {
  const auto status = MakeDevice("onednn", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("GG_WITH_ONEDNN"));
}
#endif

TEST(DeviceRegistryTest, UnknownNameListsTheKnownOnes) {
  const auto status = MakeDevice("gpu", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'gpu'"));
  EXPECT_THAT(status.message(), HasSubstr("auto, reference or onednn"));
}

TEST(DeviceRegistryTest, ThreadsBelowOneAreRefused) {
  for (const int threads : {0, -3}) {
    EXPECT_EQ(MakeDevice("reference", {.threads = threads}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace gg
