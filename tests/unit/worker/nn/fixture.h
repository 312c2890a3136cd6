// SPDX-License-Identifier: Apache-2.0
//
// A network on the reference device with a batch of reproducible data.
#ifndef GOSSIPGRAD_TESTS_UNIT_WORKER_NN_FIXTURE_H_
#define GOSSIPGRAD_TESTS_UNIT_WORKER_NN_FIXTURE_H_

#include <memory>
#include <utility>
#include <vector>

#include "core/rng.h"
#include "gtest/gtest.h"
#include "kernels/device.h"
#include "worker/nn/network.h"

namespace gg {

inline absl::Status NoHook(BlockIndex) {
  return absl::OkStatus();
}

inline std::vector<float> RandomImages(size_t floats) {
  Rng rng(3, "images");
  std::vector<float> x(floats);
  for (float& v : x) v = rng.Normal();
  return x;
}

inline std::vector<int32_t> RandomLabels(size_t samples, int64_t classes) {
  Rng rng(3, "labels");
  std::vector<int32_t> labels(samples);
  for (int32_t& l : labels) l = static_cast<int32_t>(rng.Below(static_cast<uint64_t>(classes)));
  return labels;
}

class NetworkTest : public testing::Test {
 protected:
  NetworkTest() : device_(MakeDevice("reference", {}).value()) {}

  static NetworkOptions SmallMlp() {
    NetworkOptions options;
    options.model.name = "mlp";
    options.model.hidden = {13, 7};
    options.input = {1, 5, 4};
    options.classes = 3;
    options.batch_size = 6;
    options.seed = 11;
    return options;
  }

  std::unique_ptr<Network> Make(const NetworkOptions& options) {
    auto network = MakeNetwork(*device_, options);
    EXPECT_TRUE(network.ok()) << network.status();
    x_ = RandomImages(static_cast<size_t>(options.batch_size * options.input.floats()));
    labels_ = RandomLabels(static_cast<size_t>(options.batch_size), options.classes);
    return *std::move(network);
  }

  static std::vector<float> Copy(ConstFlat values) { return {values.begin(), values.end()}; }

  const std::unique_ptr<Device> device_;
  std::vector<float> x_;
  std::vector<int32_t> labels_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_WORKER_NN_FIXTURE_H_
