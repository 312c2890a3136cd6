// SPDX-License-Identifier: Apache-2.0
#include "worker/optim/gradient_clip.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr double kGuard = 1e-6;

}  // namespace

absl::Status GradientClip::Block(BlockIndex block) {
  if (value_ <= 0) return absl::OkStatus();
  return device_.Clamp(stream_, static_cast<float>(value_), arena_.gradients(block));
}

absl::Status GradientClip::All() {
  if (norm_ <= 0) return absl::OkStatus();
  const Flat gradients = arena_.gradients();
  GG_ASSIGN_OR_RETURN(const double squared, device_.SquaredNorm(stream_, gradients));
  const double norm = std::sqrt(squared);
  if (!std::isfinite(norm)) {
    return absl::InternalError(
        absl::StrCat("the norm of the gradient is ", norm,
                     ": training has diverged; lower spec.learning_rate.base"));
  }
  const double scale = norm_ / (norm + kGuard);
  if (scale >= 1) return absl::OkStatus();
  return device_.Axpby(stream_, 0, gradients, static_cast<float>(scale), gradients);
}

}  // namespace gg
