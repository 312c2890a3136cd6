// SPDX-License-Identifier: Apache-2.0
//
// What moves values and computes nothing.
// Thread-safety: see model/op.h.
#ifndef GOSSIPGRAD_MODEL_OPS_SHAPE_OPS_H_
#define GOSSIPGRAD_MODEL_OPS_SHAPE_OPS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "model/op.h"

namespace gg::model {

struct ReshapeOptions {
  Shape shape;  // 0: as the input's dimension of that place; -1, once: what is left
};
struct FlattenOptions {
  int64_t axis = 1;  // dimensions before it become one, and those from it on
};
struct TransposeOptions {
  std::vector<int64_t> permutation;  // of the output's dimensions among the input's
};
struct ConcatOptions {
  int64_t axis = 1;
};
struct SliceOptions {
  int64_t axis = 1, begin = 0, end = 0;  // end: of the elements taken, one after the last
  int64_t step = 1;                      // >= 1
};
struct PadOptions {
  std::vector<int64_t> before, after;  // by dimension
  double value = 0;
};
struct ExpandOptions {
  Shape shape;  // 0: as the input's; else the input has 1 there
};

class Reshape final : public Op {
 public:
  explicit Reshape(ReshapeOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "reshape"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const ReshapeOptions options;
};

class Flatten final : public Op {
 public:
  explicit Flatten(FlattenOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "flatten"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const FlattenOptions options;
};

class Transpose final : public Op {
 public:
  explicit Transpose(TransposeOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "transpose"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const TransposeOptions options;
};

class Concat final : public Op {
 public:
  explicit Concat(ConcatOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "concat"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const ConcatOptions options;
};

class Slice final : public Op {
 public:
  explicit Slice(SliceOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "slice"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const SliceOptions options;
};

class Pad final : public Op {
 public:
  explicit Pad(PadOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "pad"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const PadOptions options;
};

class Expand final : public Op {
 public:
  explicit Expand(ExpandOptions given) : options(std::move(given)) {}
  absl::string_view kind() const override { return "expand"; }
  absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const override;
  std::string Text() const override;

  const ExpandOptions options;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_SHAPE_OPS_H_
