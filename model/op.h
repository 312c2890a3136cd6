// SPDX-License-Identifier: Apache-2.0
//
// One kind of computation in a graph: its attributes, the shapes it makes, the parameters it has and the work it is.
// To add one: model/ops/<name>.{h,cc}, a line in model/ops/README.md's table, a layer in worker/nn/layers that computes it,
// and its mapping in model/onnx where ONNX has it.
//
// Thread-safety: ops are immutable.
#ifndef GOSSIPGRAD_MODEL_OP_H_
#define GOSSIPGRAD_MODEL_OP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gg::model {

using Shape = std::vector<int64_t>;  // dimension 0 of an activation is the batch

// The most elements of one tensor. No machine holds more, and sizes below it cannot overflow when they are added.
inline constexpr int64_t kMostElements = int64_t{1} << 40;

int64_t Elements(const Shape& shape);      // 1 for no dimensions; INT64_MAX where it would be more
std::string ToString(const Shape& shape);  // "64x3x32x32"; "scalar" for no dimensions

// kInvalidArgument: a dimension below 1, or more than kMostElements elements. `what` begins the message.
absl::Status CheckShape(const Shape& shape, absl::string_view what);

// a * b and a + b of numbers of at least 0; INT64_MAX where it would be more.
int64_t CappedProduct(int64_t a, int64_t b);
int64_t CappedSum(int64_t a, int64_t b);

// How a parameter begins. Uniform: in centre - bound .. centre + bound. Normal: mean centre, deviation bound. Constant: centre.
// Drawn from the stream "init/<parameter's name>" of the job's seed.
struct Initializer {
  enum Kind { kConstant, kUniform, kNormal } kind = kConstant;
  float bound = 0;
  float centre = 0;

  bool operator==(const Initializer&) const = default;
};

struct ParameterDesc {
  std::string name;  // "weight"; the graph knows it as "<node>.weight"
  Shape shape;
  Initializer initial;
};

struct BufferDesc {
  std::string name;  // "running_mean"
  Shape shape;
  float initial = 0;
};

// What follows from the shapes of the inputs.
struct OpDesc {
  std::vector<Shape> outputs;
  std::vector<ParameterDesc> parameters;
  std::vector<BufferDesc> buffers;
  // Multiplications with an addition each, of a forward pass over the whole batch; what is no product of sums (activations,
  // pooling, normalisation) counts as 0, as is usual in the field.
  int64_t multiply_adds = 0;
};

class Op {
 public:
  virtual ~Op() = default;
  virtual absl::string_view kind() const = 0;  // "convolution"
  // kInvalidArgument: these inputs cannot be; says which dimension, and what would do.
  virtual absl::StatusOr<OpDesc> Describe(absl::Span<const Shape> inputs) const = 0;
  // The attributes for people: "64 filters of 3x3, stride 2, pad 1".
  virtual std::string Text() const { return ""; }
  // The parameters are exchanged with those of the node before it that has any: for ops with so few that messages of their
  // own would cost more than they carry.
  virtual bool joins_block_before() const { return false; }
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OP_H_
