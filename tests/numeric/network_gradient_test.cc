// SPDX-License-Identifier: Apache-2.0
//
// Whole networks on the reference device: the gradient of the mean loss against central differences
// of the loss, along two directions for each parameter tensor: its gradient, where the signal is
// largest, and a mixture of that with a random direction, which sees components that point the
// wrong way.
#include <algorithm>
#include <cmath>

#include "tests/numeric/device_test.h"
#include "tests/numeric/golden.h"
#include "worker/nn/network.h"

namespace gg {
namespace {

constexpr double kTolerance =
    0.01;  // of the gradient's norm; what is left is curvature and kinks of ReLU and maximum

// A gradient below it is lost in the rounding of the loss: that of a beta whose shift the next
// normalisation removes is zero.
constexpr double kLeastNorm = 0.05;

class NetworkGradientTest : public NumericTest {
 protected:
  void ExpectGradients(const NetworkOptions& options, double delta) {
    auto made = MakeNetwork(*device_, options);
    ASSERT_TRUE(made.ok()) << made.status();
    Network& net = **made;
    ParamArena& arena = net.arena();
    const auto x = Filled("x", static_cast<size_t>(options.batch_size * options.input.floats()));
    std::vector<int32_t> labels;
    for (int i = 0; i < options.batch_size; ++i)
      labels.push_back(static_cast<int32_t>(i * 3 % options.classes));
    const auto none = [](BlockIndex) { return absl::OkStatus(); };
    // Forward, not Evaluate: dropout has to take part, with the same mask each time.
    const auto loss = [&] {
      return net.Forward(5, x, labels, none)->loss_sum / static_cast<double>(options.batch_size);
    };
    loss();
    ASSERT_TRUE(net.Backward(none).ok());
    for (BlockIndex b = 0; b < arena.block_count(); ++b) {
      for (const TensorInfo& t : arena.block(b).tensors) {
        const Flat w = arena.weights(t), g = arena.gradients(t);
        const double norm = Norm(g);
        ASSERT_GT(norm, 0) << t.name;
        for (const double mix : {0.0, 1.0}) {
          const auto direction = Direction(t, g, norm, mix);
          double want = 0;
          for (size_t i = 0; i < w.size(); ++i) want += g[i] * direction[i];
          const std::vector<float> saved(w.begin(), w.end());
          const auto at = [&](double step) {
            for (size_t i = 0; i < w.size(); ++i)
              w[i] = static_cast<float>(saved[i] + step * direction[i]);
            return loss();
          };
          const double slope = (at(delta) - at(-delta)) / (2 * delta);
          std::copy(saved.begin(), saved.end(), w.begin());
          EXPECT_NEAR(slope, want, kTolerance * std::max(norm, kLeastNorm))
              << t.name << ", mixed with " << mix << " random";
        }
      }
    }
  }

 private:
  static double Norm(ConstFlat v) {
    double sum = 0;
    for (const float x : v) sum += static_cast<double>(x) * x;
    return std::sqrt(sum);
  }

  // The unit vector of the gradient plus `mix` times a random unit vector.
  static std::vector<double> Direction(const TensorInfo& t, ConstFlat g, double norm, double mix) {
    const auto random = Filled("direction/" + t.name, t.count);
    const double random_norm = Norm(random);
    std::vector<double> direction(t.count);
    for (size_t i = 0; i < t.count; ++i) direction[i] = g[i] / norm + mix * random[i] / random_norm;
    return direction;
  }
};
INSTANTIATE_TEST_SUITE_P(Reference, NetworkGradientTest, testing::Values("reference"));

TEST_P(NetworkGradientTest, LeNet) {
  NetworkOptions options;
  options.input = {1, 28, 28};
  options.batch_size = 4;
  ExpectGradients(options, 2e-3);
}

TEST_P(NetworkGradientTest, LeNetWithBatchNorm) {
  NetworkOptions options;
  options.model.name = "lenet-bn";
  options.input = {1, 28, 28};
  options.batch_size = 8;
  ExpectGradients(options, 1e-3);
}

TEST_P(NetworkGradientTest, CifarNet) {
  NetworkOptions options;
  options.model.name = "cifarnet";
  options.input = {3, 16, 16};
  options.batch_size = 4;
  ExpectGradients(options, 2e-3);
}

TEST_P(NetworkGradientTest, MlpWithDropout) {
  NetworkOptions options;
  options.model.name = "mlp";
  options.model.hidden = {32, 16};
  options.model.dropout = 0.25;
  options.input = {1, 8, 8};
  options.batch_size = 8;
  ExpectGradients(options, 2e-3);
}

}  // namespace
}  // namespace gg
