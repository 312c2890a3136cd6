// SPDX-License-Identifier: Apache-2.0
//
// Maximum or mean of a window of (N, C, H, W), or of all of the image. Padding never wins a maximum; a mean divides by the
// part of the window inside the image, or, with count_include_pad, inside image and padding.
// Thread-safety: see model/op.h.
#ifndef GOSSIPGRAD_MODEL_OPS_POOLING_H_
#define GOSSIPGRAD_MODEL_OPS_POOLING_H_

#include <string>
#include <utility>
#include "model/op.h"
#include "model/ops/window.h"

namespace gg::model {

struct PoolOptions {
  enum Kind { kMax, kAverage } kind = kMax;
  Window window = {};
  bool global = false;  // the window is the image: (N, C, 1, 1)
  bool count_include_pad = false;
};

class Pool final : public Op {
 public:
  explicit Pool(PoolOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "pool"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const PoolOptions options;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_POOLING_H_
