// SPDX-License-Identifier: Apache-2.0
#include "worker/train/norm_meter.h"

#include <cmath>
#include <utility>

#include "core/status.h"

namespace gg {

absl::Status NormMeter::Watch(uint64_t step, size_t offset, size_t count,
                              absl::FunctionRef<absl::Status()> update) {
  if (step % kNormsEvery != 0 || count == 0) return update();
  if (step != step_) squared_update_ = shown_ = 0;
  step_ = step;
  if (before_ == nullptr || before_->floats().size() < count) {
    GG_ASSIGN_OR_RETURN(before_, device_.Allocate(count * sizeof(float)));
  }
  const Flat weights = arena_.weights().subspan(offset, count);
  const Flat before = before_->floats().subspan(0, count);
  GG_RETURN_IF_ERROR(device_.Copy(stream_, weights, before));
  GG_RETURN_IF_ERROR(update());
  GG_ASSIGN_OR_RETURN(const double squared, device_.SquaredDistance(stream_, weights, before));
  squared_update_ += squared;
  return absl::OkStatus();
}

absl::Status NormMeter::AfterStep(uint64_t step) {
  const bool measured = step % kNormsEvery == 0;
  const bool late = step == step_ + 1 && squared_update_ != shown_;
  if (!measured && !late) return absl::OkStatus();
  GG_ASSIGN_OR_RETURN(const double parameters, device_.SquaredNorm(stream_, arena_.weights()));
  if (measured) {
    GG_ASSIGN_OR_RETURN(const double gradient, device_.SquaredNorm(stream_, arena_.gradients()));
    metrics_.Set(GaugeId::kGradNorm, std::sqrt(gradient));
    metrics_.Set(GaugeId::kParamNorm, std::sqrt(parameters));
  }
  const bool begun = late || step == step_;
  if (begun && parameters > 0 && squared_update_ > 0) {
    metrics_.Set(GaugeId::kUpdateRatio, std::sqrt(squared_update_ / parameters));
    shown_ = squared_update_;
  }
  return absl::OkStatus();
}

}  // namespace gg
