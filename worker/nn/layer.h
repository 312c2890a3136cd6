// SPDX-License-Identifier: Apache-2.0
//
// One layer of a chain. A layer owns no parameters and no activations: it says what it needs, is
// bound to a device once, and gets views of arena and activations with each call. To add one:
// worker/nn/layers/<name>.{h,cc}, a finite-difference test and a golden case (tests/numeric).
// Thread-safety: thread-compatible; owned by the network.
#ifndef GOSSIPGRAD_WORKER_NN_LAYER_H_
#define GOSSIPGRAD_WORKER_NN_LAYER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/ids.h"
#include "kernels/device.h"
#include "worker/nn/network.h"

namespace gg {

// One parameter tensor of a layer. Initial values are uniform in centre - bound .. centre + bound
// (bound 0: all equal to centre).
struct ParameterSpec {
  std::string name;  // "weight": the arena knows it as "<layer>.weight"
  std::vector<int64_t> shape;
  float bound;
  float centre = 0;
};

// Values that belong to the model and are not trained (ParamArena::buffers).
struct BufferSpec {
  size_t count;
  float initial;
};

// The parameters in the order of Layer::Parameters, the buffers in that of Layer::Buffers.
using Tensors = absl::Span<const Flat>;

struct BindOptions {
  int64_t batch;
  InputShape input;
  uint64_t seed;
  Rank rank;
  Tensors buffers = {};  // the layer's own; the views stay valid as long as the layer
};

class Layer {
 public:
  explicit Layer(std::string name) : name_(std::move(name)) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const std::string& name() const { return name_; }

  // kInvalidArgument when the input is too small.
  virtual absl::StatusOr<InputShape> OutputShape(const InputShape& input) const = 0;
  virtual std::vector<ParameterSpec> Parameters(const InputShape& input) const { return {}; }
  virtual std::vector<BufferSpec> Buffers(const InputShape& input) const { return {}; }
  // The parameters belong to the block of the next layer below that has parameters and does not
  // join itself: for layers with so few that messages of their own would cost more than they carry.
  virtual bool joins_block_below() const { return false; }

  // In place: y may be x, dx may be dy, and Backward does not read x.
  virtual bool in_place() const { return false; }
  // Backward reads y, so that nobody may overwrite it before.
  virtual bool reads_output() const { return false; }
  // Absent at inference. Such a layer does not change the shape.
  virtual bool training_only() const { return false; }

  // Prepares everything; the calls below allocate nothing.
  virtual absl::Status Bind(Device& device, const BindOptions& options) = 0;

  virtual absl::Status Forward(Stream& stream, uint64_t step, Tensors weights, ConstFlat x,
                               Flat y) = 0;
  // The forward pass of inference, where that is another one.
  virtual absl::Status Infer(Stream& stream, Tensors weights, ConstFlat x, Flat y) {
    return Forward(stream, 0, weights, x, y);
  }
  // Overwrites the gradients. Only for layers with parameters; comes before BackwardData.
  virtual absl::Status BackwardParams(Stream& stream, ConstFlat x, ConstFlat dy,
                                      Tensors gradients) {
    return absl::OkStatus();
  }
  virtual absl::Status BackwardData(Stream& stream, Tensors weights, ConstFlat x, ConstFlat y,
                                    ConstFlat dy, Flat dx) = 0;

 private:
  const std::string name_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_LAYER_H_
