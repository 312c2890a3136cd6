// SPDX-License-Identifier: Apache-2.0
//
// A test that runs once for each device; one that is not there is skipped with the reason.
#ifndef GOSSIPGRAD_TESTS_NUMERIC_DEVICE_TEST_H_
#define GOSSIPGRAD_TESTS_NUMERIC_DEVICE_TEST_H_

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "kernels/device.h"

namespace gg {

class NumericTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = MakeDevice(GetParam(), {});
    if (absl::IsUnavailable(device.status())) GTEST_SKIP() << device.status();
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    stream_ = device_->MakeStream().value();
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_NUMERIC_DEVICE_TEST_H_
