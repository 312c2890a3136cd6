// SPDX-License-Identifier: Apache-2.0
//
// Ops and windows for the tests of model/ops, in a word each.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_TESTS_UNIT_MODEL_OPS_FIXTURE_H_
#define GOSSIPGRAD_TESTS_UNIT_MODEL_OPS_FIXTURE_H_

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "model/op.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/ops/pooling.h"
#include "model/ops/reductions.h"
#include "model/ops/shape_ops.h"
#include "model/ops/tensors.h"

namespace gg::model {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

using OpPtr = std::shared_ptr<const Op>;
template <typename O>
OpPtr New(decltype(O::options) options) {
  return std::make_shared<const O>(options);
}
inline OpPtr Convolve(ConvolutionOptions options) {
  return New<Convolution>(options);
}
inline Window Padded(Window window, std::array<int64_t, 4> pad) {
  window.pad = pad;
  return window;
}
inline Window Dilated(Window window, int64_t dilation) {
  window.dilation = {dilation, dilation};
  return window;
}

}  // namespace gg::model

#endif  // GOSSIPGRAD_TESTS_UNIT_MODEL_OPS_FIXTURE_H_
