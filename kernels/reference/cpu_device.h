// SPDX-License-Identifier: Apache-2.0
//
// What all CPU devices have in common: host memory, whole-vector and element-wise operations, batch
// normalisation, the loss. A device that has threads of its own overrides ForItems. Thread-safety:
// thread-safe.
#ifndef GOSSIPGRAD_KERNELS_REFERENCE_CPU_DEVICE_H_
#define GOSSIPGRAD_KERNELS_REFERENCE_CPU_DEVICE_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "kernels/device.h"

namespace gg {

class CpuDevice : public Device {
 public:
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(size_t bytes) override;
  absl::StatusOr<std::unique_ptr<Stream>> MakeStream() override;

  absl::Status Copy(Stream&, ConstFlat x, Flat y) override;
  absl::Status Fill(Stream&, float a, Flat y) override;
  absl::Status Axpby(Stream&, float a, ConstFlat x, float b, Flat y) override;
  absl::Status AddDifference(Stream&, float a, ConstFlat x, ConstFlat s, Flat y) override;
  absl::Status Clamp(Stream&, float limit, Flat y) override;
  absl::StatusOr<double> SquaredDistance(Stream&, ConstFlat x, ConstFlat y) override;
  absl::StatusOr<double> SquaredNorm(Stream&, ConstFlat x) override;
  absl::Status SgdMomentum(Stream&, const SgdParams&, ConstFlat g, Flat v, Flat w) override;
  absl::Status Adam(Stream&, const AdamParams&, ConstFlat g, Flat m, Flat v, Flat w) override;
  absl::Status AdamDirection(Stream&, const AdamParams&, ConstFlat g, ConstFlat w, Flat m, Flat v,
                             Flat r) override;
  absl::Status Relu(Stream&, ConstFlat x, Flat y) override;
  absl::Status ReluBackward(Stream&, ConstFlat y, ConstFlat dy, Flat dx) override;
  absl::Status Multiply(Stream&, ConstFlat x, ConstFlat mask, Flat y) override;
  absl::StatusOr<LossResult> SoftmaxCrossEntropy(Stream&, ConstFlat logits,
                                                 absl::Span<const int32_t> labels, int64_t classes,
                                                 float scale, Flat dlogits) override;
  absl::StatusOr<std::unique_ptr<BatchNorm>> MakeBatchNorm(const BatchNormDesc& desc) override;

 protected:
  using RangeFn = absl::FunctionRef<void(size_t begin, size_t end)>;
  // Calls fn on ranges that cover the items 0 .. n-1 once, each item worth so many floats; returns
  // when all are done. Here: one range, this thread.
  virtual void ForItems(size_t n, size_t floats_each, RangeFn fn) { fn(0, n); }

 private:
  // Ranges of a vector of n floats.
  void ForRanges(size_t n, RangeFn fn);
};

}  // namespace gg

#endif  // GOSSIPGRAD_KERNELS_REFERENCE_CPU_DEVICE_H_
