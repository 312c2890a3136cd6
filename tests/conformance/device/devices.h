// SPDX-License-Identifier: Apache-2.0
//
// The devices under test and what all their tests need. A new device: its name in kDevices, nothing
// else.
#ifndef GOSSIPGRAD_TESTS_CONFORMANCE_DEVICE_DEVICES_H_
#define GOSSIPGRAD_TESTS_CONFORMANCE_DEVICE_DEVICES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "kernels/device.h"

namespace gg {

inline const char* const kDevices[] = {"reference", "onednn"};

// Skips, with the reason, a device that this build or machine does not have.
class DeviceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override;

  Device& device() { return *device_; }
  Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

#define GG_FOR_ALL_DEVICES(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(Devices, suite, testing::ValuesIn(kDevices), \
                           [](const auto& i) { return std::string(i.param); })

// Reproducible values in -1 .. 1.
std::vector<float> Random(size_t n, absl::string_view stream);

// |got - want| <= tolerance * max(1, largest |want|) everywhere; an element in doubt is named.
void ExpectClose(ConstFlat got, const std::vector<double>& want, double tolerance,
                 absl::string_view what);

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_CONFORMANCE_DEVICE_DEVICES_H_
