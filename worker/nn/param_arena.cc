// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/param_arena.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr size_t kAlignFloats = 64 / sizeof(float);

}  // namespace

absl::StatusOr<std::unique_ptr<ParamArena>> ParamArena::Create(Device& device,
                                                               std::vector<BlockInfo> blocks,
                                                               size_t buffer_floats) {
  auto arena = std::unique_ptr<ParamArena>(new ParamArena());
  size_t at = 0;
  for (BlockInfo& block : blocks) {
    block.offset = at;
    for (TensorInfo& tensor : block.tensors) {
      tensor.offset = at;
      tensor.count = 1;
      for (const int64_t dim : tensor.shape) {
        if (dim < 1) {
          return absl::InvalidArgumentError(absl::StrCat(
              "parameter ", tensor.name, ": a dimension is ", dim, ", must be positive"));
        }
        tensor.count *= static_cast<size_t>(dim);
      }
      at += tensor.count;
      arena->parameter_count_ += tensor.count;
    }
    at = (at + kAlignFloats - 1) / kAlignFloats * kAlignFloats;
    block.count = at - block.offset;
  }
  arena->blocks_ = std::move(blocks);
  arena->size_ = at;
  arena->buffer_floats_ = buffer_floats;
  for (std::unique_ptr<Buffer>* buffer : {&arena->weights_, &arena->gradients_}) {
    GG_ASSIGN_OR_RETURN(*buffer, device.Allocate(at * sizeof(float)));
  }
  if (buffer_floats > 0) {
    GG_ASSIGN_OR_RETURN(arena->buffers_, device.Allocate(buffer_floats * sizeof(float)));
  }
  return arena;
}

absl::Status ParamArena::AllocateState(Device& device, int vectors) {
  std::vector<std::unique_ptr<Buffer>> state(static_cast<size_t>(vectors));
  for (std::unique_ptr<Buffer>& vector : state) {
    GG_ASSIGN_OR_RETURN(vector, device.Allocate(size_ * sizeof(float)));
  }
  state_ = std::move(state);
  return absl::OkStatus();
}

}  // namespace gg
