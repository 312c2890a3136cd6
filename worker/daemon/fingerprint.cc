// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/fingerprint.h"

#include <xxhash.h>

#include <memory>
#include <string>
#include <vector>

namespace gg {
namespace {

class Hash {
 public:
  Hash() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_64bits_reset(state_.get()); }

  void AddBytes(const void* data, size_t bytes) { XXH3_64bits_update(state_.get(), data, bytes); }

  void Add(int64_t number) { AddBytes(&number, sizeof(number)); }

  template <typename T>
  void Add(const std::vector<T>& values) {
    Add(static_cast<int64_t>(values.size()));
    AddBytes(values.data(), values.size() * sizeof(T));
  }

  void Add(const std::string& text) {
    Add(static_cast<int64_t>(text.size()));
    AddBytes(text.data(), text.size());
  }

  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

}  // namespace

uint64_t DataFingerprint(const Dataset& train, const Dataset& test) {
  Hash hash;
  for (const Dataset* split : {&train, &test}) {
    hash.Add(split->shape.channels);
    hash.Add(split->shape.height);
    hash.Add(split->shape.width);
    hash.Add(split->classes);
    hash.Add(split->labels);
    hash.Add(split->pixels);
  }
  return hash.value();
}

uint64_t ModelFingerprint(ParamArena& arena) {
  Hash hash;
  for (BlockIndex b = 0; b < arena.block_count(); ++b) {
    for (const TensorInfo& tensor : arena.block(b).tensors) {
      hash.Add(tensor.name);
      hash.Add(tensor.shape);
      hash.Add(static_cast<int64_t>(tensor.offset));
    }
  }
  const Flat weights = arena.weights();
  hash.Add(static_cast<int64_t>(weights.size()));
  hash.AddBytes(weights.data(), weights.size() * sizeof(float));
  return hash.value();
}

}  // namespace gg
