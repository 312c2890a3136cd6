// SPDX-License-Identifier: Apache-2.0
//
// What a compute device provides: memory, an order of work, whole-vector operations (mixing, optimizer) and prepared
// layer operations. To write a new device: a folder kernels/<name>/ with one factory, a line in kernels/registry.h, and
// the conformance suite of tests/conformance/device instantiated for it. All tensors are fp32; images are NCHW,
// convolution weights OIHW, fully connected weights (out, in). That canonical layout is what travels between workers;
// a device that computes in another layout reorders inside its operation.
//
// Calls enqueue on a stream; on CPU devices they have finished when they return. A prepared operation owns its plan and
// scratch memory, allocates nothing when it runs, is used by one thread at a time, and must not outlive its device.
// Thread-safety: Device is thread-safe, Stream and prepared operations are thread-compatible.
#ifndef GOSSIPGRAD_KERNELS_DEVICE_H_
#define GOSSIPGRAD_KERNELS_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gg {

// Flat views of device memory. On CPU devices they can be dereferenced by the host.
using ConstFlat = absl::Span<const float>;
using Flat = absl::Span<float>;

// Device memory, zeroed at allocation, aligned to 64 bytes at least, released with the object.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* data() = 0;
  virtual size_t bytes() const = 0;
  Flat floats() { return Flat(static_cast<float*>(data()), bytes() / sizeof(float)); }
};

// An order of work. Operations of one stream run one after another.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual absl::Status Synchronize() = 0;
};

struct Conv2dDesc {
  int64_t batch, in_channels, in_height, in_width;
  int64_t out_channels, kernel_height, kernel_width;
  int64_t stride_height = 1, stride_width = 1;
  int64_t pad_height = 0, pad_width = 0;  // symmetric zero padding
  int64_t out_height() const {
    return (in_height + 2 * pad_height - kernel_height) / stride_height + 1;
  }
  int64_t out_width() const { return (in_width + 2 * pad_width - kernel_width) / stride_width + 1; }
};

struct LinearDesc {
  int64_t batch, in_features, out_features;
};

enum class PoolKind { kMax, kAverage };

struct Pool2dDesc {
  PoolKind kind;
  int64_t batch, channels, in_height, in_width;
  int64_t kernel_height, kernel_width;
  int64_t stride_height, stride_width;
  int64_t pad_height = 0, pad_width = 0;
  // Caffe rounds the output size up, most others down. A window then may reach over the lower right edge; averages
  // divide by the part inside the image.
  bool ceil_mode = false;
  int64_t out_height() const {
    return OutSize(in_height, kernel_height, stride_height, pad_height);
  }
  int64_t out_width() const { return OutSize(in_width, kernel_width, stride_width, pad_width); }

 private:
  int64_t OutSize(int64_t in, int64_t kernel, int64_t stride, int64_t pad) const {
    const int64_t span = in + 2 * pad - kernel;
    int64_t out = (ceil_mode ? (span + stride - 1) / stride : span / stride) + 1;
    // The last window must begin inside the image or its left padding.
    if (ceil_mode && (out - 1) * stride >= in + pad) --out;
    return out;
  }
};

// y = conv(x, w) + b.  x (N,C,H,W), w (O,C,KH,KW), b (O), y (N,O,OH,OW).
class Conv2d {
 public:
  virtual ~Conv2d() = default;
  virtual absl::Status Forward(Stream&, ConstFlat x, ConstFlat w, ConstFlat b, Flat y) = 0;
  virtual absl::Status BackwardData(Stream&, ConstFlat dy, ConstFlat w, Flat dx) = 0;
  // Overwrites dw and db.
  virtual absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dw, Flat db) = 0;
};

// y = x w^T + b.  x (N,I), w (O,I), b (O), y (N,O).
class Linear {
 public:
  virtual ~Linear() = default;
  virtual absl::Status Forward(Stream&, ConstFlat x, ConstFlat w, ConstFlat b, Flat y) = 0;
  virtual absl::Status BackwardData(Stream&, ConstFlat dy, ConstFlat w, Flat dx) = 0;
  virtual absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dw, Flat db) = 0;
};

// Max pooling keeps which input won between Forward and Backward of the same instance.
class Pool2d {
 public:
  virtual ~Pool2d() = default;
  virtual absl::Status Forward(Stream&, ConstFlat x, Flat y) = 0;
  virtual absl::Status Backward(Stream&, ConstFlat dy, Flat dx) = 0;
};

// Per-channel normalisation. Images are (batch, channels, height, width) with spatial = height x width; vectors have
// spatial 1. PyTorch's conventions: epsilon is added to the variance, momentum is the share of the batch in the running
// values.
struct BatchNormDesc {
  int64_t batch, channels, spatial;
  float epsilon = 1e-5f;
  float momentum = 0.1f;
};

// y = gamma (x - mean) / sqrt(variance + epsilon) + beta with mean and variance of each channel (Ioffe and Szegedy,
// 2015). Keeps the statistics of a batch between Forward, BackwardParams and BackwardData, which come in this order:
// kFailedPrecondition otherwise.
class BatchNorm {
 public:
  virtual ~BatchNorm() = default;
  // Training: the mean and the biased variance of this batch normalise it, and
  // running = (1 - momentum) running + momentum batch, where the variance is the unbiased one. kInvalidArgument when a
  // channel has a single value, which has no variance.
  virtual absl::Status Forward(Stream&, ConstFlat x, ConstFlat gamma, ConstFlat beta,
                               Flat running_mean, Flat running_variance, Flat y) = 0;
  // Inference: the given mean and variance.
  virtual absl::Status Infer(Stream&, ConstFlat x, ConstFlat gamma, ConstFlat beta, ConstFlat mean,
                             ConstFlat variance, Flat y) = 0;
  // Overwrites dgamma and dbeta.
  virtual absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dgamma,
                                      Flat dbeta) = 0;
  virtual absl::Status BackwardData(Stream&, ConstFlat x, ConstFlat dy, ConstFlat gamma,
                                    Flat dx) = 0;  // dy and dx may coincide
};

struct LossResult {
  double loss_sum = 0;  // sum over the batch of -log softmax(logits)[label]
  int64_t correct = 0;  // argmax equals label; the first of equal maxima counts
};

struct SgdParams {
  float learning_rate;
  float momentum;
  float weight_decay;
  bool nesterov = false;
  bool rate_in_momentum = true;  // Caffe's convention; false: PyTorch's
};

// Of one step of Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019). In double, for what is close to 1.
struct AdamParams {
  double learning_rate;
  double beta1, beta2;  // shares of the moments that are kept, [0, 1)
  double epsilon;
  double weight_decay;
  uint64_t step;  // number of this step, from 1
  // True: the decay shrinks the weights (AdamW). False: it is part of the gradient.
  bool decoupled_decay = false;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual absl::string_view name() const = 0;

  // kResourceExhausted when there is not enough memory.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(size_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Stream>> MakeStream() = 0;

  // Whole vectors of equal size; x, s and y either coincide or do not overlap.
  virtual absl::Status Copy(Stream&, ConstFlat x, Flat y) = 0;                     // y = x
  virtual absl::Status Fill(Stream&, float a, Flat y) = 0;                         // y = a
  virtual absl::Status Axpby(Stream&, float a, ConstFlat x, float b, Flat y) = 0;  // y = a x + b y
  virtual absl::Status AddDifference(Stream&, float a, ConstFlat x, ConstFlat s,
                                     Flat y) = 0;                // y += a (x - s)
  virtual absl::Status Clamp(Stream&, float limit, Flat y) = 0;  // y = y cut to -limit .. limit
  // Squared Euclidean norms, accumulated in double: out = sum (x_i - y_i)^2, or sum x_i^2. Waits for the result.
  virtual absl::StatusOr<double> SquaredDistance(Stream&, ConstFlat x, ConstFlat y) = 0;
  virtual absl::StatusOr<double> SquaredNorm(Stream&, ConstFlat x) = 0;
  // Caffe's convention, where the rate is part of v:
  //   d = rate (g + decay w); v = momentum v + d; w = w - v, or with nesterov w = w - (momentum v + d) with the new v.
  // PyTorch's, where it is not:
  //   d = g + decay w; v = momentum v + d; w = w - rate v, or with nesterov w = w - rate (d + momentum v).
  // While the rate is constant the two are the same but for v, which differs by the factor of the rate. v may be empty
  // when momentum is 0: it is taken for zeros then.
  virtual absl::Status SgdMomentum(Stream&, const SgdParams&, ConstFlat g, Flat v, Flat w) = 0;
  // With d = g + decay w, or d = g where the decay is decoupled:
  //   m = beta1 m + (1 - beta1) d;  v = beta2 v + (1 - beta2) d^2
  //   r = (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon)
  // Adam:           w = w - rate r, after w = (1 - rate decay) w where the decay is decoupled.
  // AdamDirection:  leaves w as it is and writes r, plus decay w where the decay is decoupled; the rate is not used.
  virtual absl::Status Adam(Stream&, const AdamParams&, ConstFlat g, Flat m, Flat v, Flat w) = 0;
  virtual absl::Status AdamDirection(Stream&, const AdamParams&, ConstFlat g, ConstFlat w, Flat m,
                                     Flat v, Flat r) = 0;

  // Element-wise layers.
  virtual absl::Status Relu(Stream&, ConstFlat x, Flat y) = 0;  // x and y may coincide
  virtual absl::Status ReluBackward(Stream&, ConstFlat y, ConstFlat dy,
                                    Flat dx) = 0;  // dy and dx may coincide
  // mask_i in {0, 1/(1-p)}; y = x mask. The mask is drawn by the caller.
  virtual absl::Status Multiply(Stream&, ConstFlat x, ConstFlat mask, Flat y) = 0;

  // Softmax cross-entropy over rows of `logits` (batch, classes). Writes dlogits = scale (softmax - onehot) unless
  // dlogits is empty. kInvalidArgument for a label outside 0 .. classes-1. Waits for the result.
  virtual absl::StatusOr<LossResult> SoftmaxCrossEntropy(Stream&, ConstFlat logits,
                                                         absl::Span<const int32_t> labels,
                                                         int64_t classes, float scale,
                                                         Flat dlogits) = 0;

  // Prepared layer operations. kInvalidArgument says which field of the description is impossible.
  virtual absl::StatusOr<std::unique_ptr<Conv2d>> MakeConv2d(const Conv2dDesc&) = 0;
  virtual absl::StatusOr<std::unique_ptr<Linear>> MakeLinear(const LinearDesc&) = 0;
  virtual absl::StatusOr<std::unique_ptr<Pool2d>> MakePool2d(const Pool2dDesc&) = 0;
  virtual absl::StatusOr<std::unique_ptr<BatchNorm>> MakeBatchNorm(const BatchNormDesc&) = 0;
};

struct DeviceOptions {
  int threads = 1;  // compute threads, >= 1
};

// kernels/registry.cc. name: auto | reference | onednn; "auto" takes the fastest that works here.
// kInvalidArgument: unknown name. kUnavailable: known, but not built in or not usable on this machine; says why.
absl::StatusOr<std::unique_ptr<Device>> MakeDevice(absl::string_view name,
                                                   const DeviceOptions& options);

}  // namespace gg

#endif  // GOSSIPGRAD_KERNELS_DEVICE_H_
