// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/net.h"

#include "model/ops/elementwise.h"
#include "model/ops/shape_ops.h"

namespace gg::model::zoo {

void Net::Relu(std::string node) {
  Add<Unary>(std::move(node), {.kind = UnaryOptions::kRelu});
}

void Net::Flatten(std::string node) {
  if (shape().size() != 2) Add<model::Flatten>(std::move(node), {});
}

void Net::Head(double weight, bool training_only) {
  builder_.AddHead({.value = value_, .weight = weight, .training_only = training_only});
}

PoolOptions MaxPool(int64_t kernel, int64_t stride, int64_t pad) {
  return {.kind = PoolOptions::kMax, .window = Square(kernel, stride, pad)};
}

PoolOptions CaffePool(PoolOptions::Kind kind, int64_t kernel, int64_t stride, int64_t pad) {
  PoolOptions options = {.kind = kind, .window = Square(kernel, stride, pad)};
  options.window.ceil_mode = true;
  return options;
}

PoolOptions GlobalMean() {
  return {.kind = PoolOptions::kAverage, .global = true};
}

Initializer Normal(double deviation) {
  return {.kind = Initializer::kNormal, .bound = static_cast<float>(deviation)};
}

Initializer Constant(double value) {
  return {.centre = static_cast<float>(value)};
}

Initializer Uniform(double bound) {
  return {.kind = Initializer::kUniform, .bound = static_cast<float>(bound)};
}

}  // namespace gg::model::zoo
