// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/device/devices.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/rng.h"

namespace gg {

void DeviceTest::SetUp() {
  auto device = MakeDevice(GetParam(), DeviceOptions{.threads = 1});
  if (absl::IsUnavailable(device.status())) GTEST_SKIP() << device.status();
  ASSERT_TRUE(device.ok()) << device.status();
  device_ = *std::move(device);
  auto stream = device_->MakeStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  stream_ = *std::move(stream);
}

std::vector<float> Random(size_t n, absl::string_view stream) {
  Rng rng(20, stream);
  std::vector<float> values(n);
  for (float& v : values) v = 2.0f * rng.Uniform() - 1.0f;
  return values;
}

void ExpectClose(ConstFlat got, const std::vector<double>& want, double tolerance,
                 absl::string_view what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double scale = 1;
  for (const double w : want) scale = std::max(scale, std::abs(w));
  for (size_t i = 0; i < got.size(); ++i) {
    // Not EXPECT_NEAR: one report is enough, and NaN must fail.
    if (!(std::abs(got[i] - want[i]) <= tolerance * scale)) {
      ADD_FAILURE() << what << "[" << i << "] is " << got[i] << ", expected " << want[i]
                    << " within " << tolerance * scale;
      return;
    }
  }
}

}  // namespace gg
