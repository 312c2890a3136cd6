// SPDX-License-Identifier: Apache-2.0
//
// All parameters of a network in one contiguous buffer, all gradients in a second, and one more for each vector of the
// optimizer's state (momentum; first and second moments), each in the order in which back-propagation finishes them:
// block 0 is the LAST layer that has parameters. A block is one layer's range (with the layers that join it,
// Layer::joins_block_below) and what optimizer and exchange work on, unpacked.
// Every block begins on a 64-byte boundary; the gaps are zero in all of them and stay zero under every operation.
// `buffers` holds what is not trained but belongs to the model (batch-norm statistics): averaged, never gossiped with
// momentum.
// Thread-safety: thread-compatible; owned by the training thread, which lends block ranges out.
#ifndef GOSSIPGRAD_WORKER_NN_PARAM_ARENA_H_
#define GOSSIPGRAD_WORKER_NN_PARAM_ARENA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device.h"

namespace gg {

using BlockIndex = int;

struct TensorInfo {
  std::string name;            // "conv1.weight"
  std::vector<int64_t> shape;  // canonical layout, kernels/device.h
  size_t offset = 0;           // floats from the start of the arena
  size_t count = 0;            // floats
};

struct BlockInfo {
  std::string name;   // the layer's name
  size_t offset = 0;  // floats from the start of the arena
  size_t count =
      0;  // floats, padding at the end included: offset + count = offset of the next block
  std::vector<TensorInfo> tensors = {};
};

class ParamArena {
 public:
  // `blocks` in back-propagation order with names and shapes set; offsets are filled in here.
  static absl::StatusOr<std::unique_ptr<ParamArena>> Create(Device& device,
                                                            std::vector<BlockInfo> blocks,
                                                            size_t buffer_floats = 0);

  // Gives the optimizer its state, zeroed; what there was before is lost. Before anybody else has views of it.
  absl::Status AllocateState(Device& device, int vectors);

  int block_count() const { return static_cast<int>(blocks_.size()); }
  const BlockInfo& block(BlockIndex b) const { return blocks_[b]; }
  size_t size() const { return size_; }                        // floats, padding included
  size_t parameter_count() const { return parameter_count_; }  // floats without padding

  Flat weights() { return weights_->floats().subspan(0, size_); }
  Flat gradients() { return gradients_->floats().subspan(0, size_); }
  int state_count() const { return static_cast<int>(state_.size()); }
  Flat state(int i) { return state_[i]->floats().subspan(0, size_); }
  // The first of the state vectors; empty when there is none.
  Flat momentum() { return state_.empty() ? Flat() : state(0); }
  Flat buffers() { return buffers_ ? buffers_->floats().subspan(0, buffer_floats_) : Flat(); }

  Flat weights(BlockIndex b) { return weights().subspan(blocks_[b].offset, blocks_[b].count); }
  Flat gradients(BlockIndex b) { return gradients().subspan(blocks_[b].offset, blocks_[b].count); }

  // The tensor's range inside weights() or gradients().
  Flat weights(const TensorInfo& t) { return weights().subspan(t.offset, t.count); }
  Flat gradients(const TensorInfo& t) { return gradients().subspan(t.offset, t.count); }

 private:
  ParamArena() = default;

  std::vector<BlockInfo> blocks_;
  size_t size_ = 0;
  size_t parameter_count_ = 0;
  size_t buffer_floats_ = 0;
  std::unique_ptr<Buffer> weights_, gradients_, buffers_;
  std::vector<std::unique_ptr<Buffer>> state_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_PARAM_ARENA_H_
