// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/clones.h"
#include "kernels/reference/layer_ops.h"
#include "kernels/reference/vector_ops.h"

namespace gg {
namespace {

GG_VECTOR_CLONES
float Dot(int64_t n, const float* a, const float* b) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

GG_VECTOR_CLONES
void AddScaled(int64_t n, float a, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

class ReferenceLinear : public Linear {
 public:
  explicit ReferenceLinear(const LinearDesc& desc) : d_(desc), sizes_(desc) {}

  absl::Status Forward(Stream&, ConstFlat x, ConstFlat w, ConstFlat b, Flat y) override {
    GG_RETURN_IF_ERROR(CheckForward("Linear", sizes_, x, w, b, y));
    for (int64_t n = 0; n < d_.batch; ++n) {
      for (int64_t o = 0; o < d_.out_features; ++o) {
        y[n * d_.out_features + o] = b[o] + Dot(d_.in_features, x.data() + n * d_.in_features,
                                                w.data() + o * d_.in_features);
      }
    }
    return absl::OkStatus();
  }

  absl::Status BackwardData(Stream&, ConstFlat dy, ConstFlat w, Flat dx) override {
    GG_RETURN_IF_ERROR(CheckBackwardData("Linear", sizes_, dy, w, dx));
    std::fill(dx.begin(), dx.end(), 0.0f);
    for (int64_t n = 0; n < d_.batch; ++n) {
      for (int64_t o = 0; o < d_.out_features; ++o) {
        AddScaled(d_.in_features, dy[n * d_.out_features + o], w.data() + o * d_.in_features,
                  dx.data() + n * d_.in_features);
      }
    }
    return absl::OkStatus();
  }

  absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dw, Flat db) override {
    GG_RETURN_IF_ERROR(CheckBackwardParams("Linear", sizes_, x, dy, dw, db));
    std::fill(dw.begin(), dw.end(), 0.0f);
    vector_ops::ColumnSums(d_.batch, d_.out_features, dy.data(), db.data());
    for (int64_t n = 0; n < d_.batch; ++n) {
      for (int64_t o = 0; o < d_.out_features; ++o) {
        AddScaled(d_.in_features, dy[n * d_.out_features + o], x.data() + n * d_.in_features,
                  dw.data() + o * d_.in_features);
      }
    }
    return absl::OkStatus();
  }

 private:
  const LinearDesc d_;
  const LinearSizes sizes_;
};

}  // namespace

std::unique_ptr<Linear> MakeReferenceLinear(const LinearDesc& desc) {
  return std::make_unique<ReferenceLinear>(desc);
}

}  // namespace gg
