// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/cpu_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/host_buffer.h"
#include "kernels/reference/batch_norm.h"
#include "kernels/reference/vector_ops.h"

namespace gg {
namespace {

// Ranges begin on cache lines, so that no line is written by two threads.
constexpr size_t kFloatsPerLine = 16;

// Calls have finished when they return: there is nothing to wait for.
class CpuStream : public Stream {
 public:
  absl::Status Synchronize() override { return absl::OkStatus(); }
};

absl::Status CheckLabels(absl::Span<const int32_t> labels, int64_t classes) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      return absl::InvalidArgumentError(
          absl::StrCat("label ", labels[i], " of sample ", i, " of the batch is outside 0 .. ",
                       classes - 1, ": check the data set and the number of classes"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckStep(absl::string_view op, uint64_t step) {
  if (step > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(op, ": step is 0, they are numbered from 1"));
}

struct RowLoss {
  double loss;
  bool correct;
};

// dlogits may be null and may coincide with logits.
RowLoss SoftmaxRow(const float* logits, int64_t classes, int32_t label, float scale,
                   float* dlogits) {
  int64_t best = 0;
  for (int64_t c = 1; c < classes; ++c) {
    if (logits[c] > logits[best]) best = c;
  }
  const float top = logits[best];
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - top);
  const double loss = std::log(sum) + static_cast<double>(top) - static_cast<double>(logits[label]);
  if (dlogits != nullptr) {
    const float factor = static_cast<float>(scale / sum);
    for (int64_t c = 0; c < classes; ++c) dlogits[c] = std::exp(logits[c] - top) * factor;
    dlogits[label] -= scale;
  }
  return {loss, best == label && !std::isnan(loss)};
}

}  // namespace

void CpuDevice::ForRanges(size_t n, RangeFn fn) {
  const size_t lines = (n + kFloatsPerLine - 1) / kFloatsPerLine;
  ForItems(lines, kFloatsPerLine, [&](size_t begin, size_t end) {
    fn(begin * kFloatsPerLine, std::min(end * kFloatsPerLine, n));
  });
}

absl::StatusOr<std::unique_ptr<Buffer>> CpuDevice::Allocate(size_t bytes) {
  return AllocateHost(bytes);
}

absl::StatusOr<std::unique_ptr<Stream>> CpuDevice::MakeStream() {
  return std::make_unique<CpuStream>();
}

absl::Status CpuDevice::Copy(Stream&, ConstFlat x, Flat y) {
  GG_RETURN_IF_ERROR(CheckSize("Copy: y", y.size(), x.size()));
  if (x.data() == y.data()) return absl::OkStatus();
  ForRanges(x.size(), [&](size_t begin, size_t end) {
    if (end > begin) std::memcpy(y.data() + begin, x.data() + begin, (end - begin) * sizeof(float));
  });
  return absl::OkStatus();
}

absl::Status CpuDevice::Fill(Stream&, float a, Flat y) {
  ForRanges(y.size(),
            [&](size_t begin, size_t end) { std::fill(y.data() + begin, y.data() + end, a); });
  return absl::OkStatus();
}

absl::Status CpuDevice::Axpby(Stream&, float a, ConstFlat x, float b, Flat y) {
  GG_RETURN_IF_ERROR(CheckSize("Axpby: y", y.size(), x.size()));
  ForRanges(x.size(), [&](size_t begin, size_t end) {
    vector_ops::Axpby(end - begin, a, x.data() + begin, b, y.data() + begin);
  });
  return absl::OkStatus();
}

absl::Status CpuDevice::AddDifference(Stream&, float a, ConstFlat x, ConstFlat s, Flat y) {
  GG_RETURN_IF_ERROR(CheckSize("AddDifference: s", s.size(), x.size()));
  GG_RETURN_IF_ERROR(CheckSize("AddDifference: y", y.size(), x.size()));
  ForRanges(x.size(), [&](size_t begin, size_t end) {
    vector_ops::AddDifference(end - begin, a, x.data() + begin, s.data() + begin, y.data() + begin);
  });
  return absl::OkStatus();
}

absl::Status CpuDevice::Clamp(Stream&, float limit, Flat y) {
  if (!(limit >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Clamp: limit is ", limit, ", must be at least 0"));
  }
  ForRanges(y.size(), [&](size_t begin, size_t end) {
    vector_ops::Clamp(end - begin, limit, y.data() + begin);
  });
  return absl::OkStatus();
}

// One thread whatever the device has: the order of the additions decides the last bits.
absl::StatusOr<double> CpuDevice::SquaredDistance(Stream&, ConstFlat x, ConstFlat y) {
  GG_RETURN_IF_ERROR(CheckSize("SquaredDistance: y", y.size(), x.size()));
  return vector_ops::SquaredDistance(x.size(), x.data(), y.data());
}

absl::StatusOr<double> CpuDevice::SquaredNorm(Stream&, ConstFlat x) {
  return vector_ops::SquaredNorm(x.size(), x.data());
}

absl::Status CpuDevice::SgdMomentum(Stream&, const SgdParams& params, ConstFlat g, Flat v, Flat w) {
  const bool plain = v.empty() && params.momentum == 0;
  if (!plain) GG_RETURN_IF_ERROR(CheckSize("SgdMomentum: v", v.size(), g.size()));
  GG_RETURN_IF_ERROR(CheckSize("SgdMomentum: w", w.size(), g.size()));
  ForRanges(g.size(), [&](size_t begin, size_t end) {
    if (plain) {
      vector_ops::Sgd(end - begin, params, g.data() + begin, w.data() + begin);
    } else {
      vector_ops::SgdMomentum(end - begin, params, g.data() + begin, v.data() + begin,
                              w.data() + begin);
    }
  });
  return absl::OkStatus();
}

absl::Status CpuDevice::Adam(Stream&, const AdamParams& params, ConstFlat g, Flat m, Flat v,
                             Flat w) {
  GG_RETURN_IF_ERROR(CheckStep("Adam", params.step));
  GG_RETURN_IF_ERROR(CheckSize("Adam: m", m.size(), g.size()));
  GG_RETURN_IF_ERROR(CheckSize("Adam: v", v.size(), g.size()));
  GG_RETURN_IF_ERROR(CheckSize("Adam: w", w.size(), g.size()));
  ForRanges(g.size(), [&](size_t begin, size_t end) {
    vector_ops::Adam(end - begin, params, g.data() + begin, m.data() + begin, v.data() + begin,
                     w.data() + begin);
  });
  return absl::OkStatus();
}

absl::Status CpuDevice::AdamDirection(Stream&, const AdamParams& params, ConstFlat g, ConstFlat w,
                                      Flat m, Flat v, Flat r) {
  GG_RETURN_IF_ERROR(CheckStep("AdamDirection", params.step));
  GG_RETURN_IF_ERROR(CheckSize("AdamDirection: w", w.size(), g.size()));
  GG_RETURN_IF_ERROR(CheckSize("AdamDirection: m", m.size(), g.size()));
  GG_RETURN_IF_ERROR(CheckSize("AdamDirection: v", v.size(), g.size()));
  GG_RETURN_IF_ERROR(CheckSize("AdamDirection: r", r.size(), g.size()));
  ForRanges(g.size(), [&](size_t begin, size_t end) {
    vector_ops::AdamDirection(end - begin, params, g.data() + begin, w.data() + begin,
                              m.data() + begin, v.data() + begin, r.data() + begin);
  });
  return absl::OkStatus();
}

absl::Status CpuDevice::Relu(Stream&, ConstFlat x, Flat y) {
  GG_RETURN_IF_ERROR(CheckSize("Relu: y", y.size(), x.size()));
  ForRanges(x.size(), [&](size_t begin, size_t end) {
    vector_ops::Relu(end - begin, x.data() + begin, y.data() + begin);
  });
  return absl::OkStatus();
}

absl::Status CpuDevice::ReluBackward(Stream&, ConstFlat y, ConstFlat dy, Flat dx) {
  GG_RETURN_IF_ERROR(CheckSize("ReluBackward: dy", dy.size(), y.size()));
  GG_RETURN_IF_ERROR(CheckSize("ReluBackward: dx", dx.size(), y.size()));
  ForRanges(y.size(), [&](size_t begin, size_t end) {
    vector_ops::ReluBackward(end - begin, y.data() + begin, dy.data() + begin, dx.data() + begin);
  });
  return absl::OkStatus();
}

absl::Status CpuDevice::Multiply(Stream&, ConstFlat x, ConstFlat mask, Flat y) {
  GG_RETURN_IF_ERROR(CheckSize("Multiply: mask", mask.size(), x.size()));
  GG_RETURN_IF_ERROR(CheckSize("Multiply: y", y.size(), x.size()));
  ForRanges(x.size(), [&](size_t begin, size_t end) {
    vector_ops::Multiply(end - begin, x.data() + begin, mask.data() + begin, y.data() + begin);
  });
  return absl::OkStatus();
}

absl::StatusOr<LossResult> CpuDevice::SoftmaxCrossEntropy(Stream&, ConstFlat logits,
                                                          absl::Span<const int32_t> labels,
                                                          int64_t classes, float scale,
                                                          Flat dlogits) {
  if (classes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("SoftmaxCrossEntropy: classes is ", classes, ", must be positive"));
  }
  GG_RETURN_IF_ERROR(CheckSize("SoftmaxCrossEntropy: logits", logits.size(),
                               labels.size() * static_cast<size_t>(classes)));
  if (!dlogits.empty()) {
    GG_RETURN_IF_ERROR(CheckSize("SoftmaxCrossEntropy: dlogits", dlogits.size(), logits.size()));
  }
  GG_RETURN_IF_ERROR(CheckLabels(labels, classes));
  LossResult result;
  for (size_t i = 0; i < labels.size(); ++i) {
    const size_t row = i * static_cast<size_t>(classes);
    const RowLoss one = SoftmaxRow(logits.data() + row, classes, labels[i], scale,
                                   dlogits.empty() ? nullptr : dlogits.data() + row);
    result.loss_sum += one.loss;
    result.correct += one.correct ? 1 : 0;
  }
  return result;
}

absl::StatusOr<std::unique_ptr<BatchNorm>> CpuDevice::MakeBatchNorm(const BatchNormDesc& desc) {
  GG_RETURN_IF_ERROR(CheckDesc(desc));
  return MakeCpuBatchNorm(desc, [this](size_t channels, size_t floats_each, RangeFn fn) {
    ForItems(channels, floats_each, fn);
  });
}

}  // namespace gg
