// SPDX-License-Identifier: Apache-2.0
//
// Functions of whole rows.
// Thread-safety: see model/op.h.
#ifndef GOSSIPGRAD_MODEL_OPS_REDUCTIONS_H_
#define GOSSIPGRAD_MODEL_OPS_REDUCTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "model/op.h"

namespace gg::model {

struct SoftmaxOptions {
  int64_t axis = -1;
  bool log = false;
};
struct ReduceOptions {
  enum Kind { kMean, kSum } kind = kMean;
  std::vector<int64_t> axes = {};  // not the batch
  bool keep = true;                // the reduced dimensions stay, as 1
};

class Softmax final : public Op {
 public:
  explicit Softmax(SoftmaxOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "softmax"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const SoftmaxOptions options;
};

class Reduce final : public Op {
 public:
  explicit Reduce(ReduceOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "reduce"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const ReduceOptions options;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_REDUCTIONS_H_
