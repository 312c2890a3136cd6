// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "worker/optim/optimizer.h"

namespace gg {
namespace {

// What a name that the specification does not know gives: the optimizer refuses it.
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double ScaledBase(const LearningRateSpec& spec, int workers) {
  double factor = kUnknown;
  if (spec.scaling == "none") factor = 1;
  if (spec.scaling == "linear") factor = workers;
  if (spec.scaling == "sqrt") factor = std::sqrt(workers);
  const double scaled = spec.base * factor;
  return spec.max_scaled > 0 ? std::min(scaled, spec.max_scaled) : scaled;
}

double PolicyFactor(const LearningRateSpec& spec, double step, double steps_per_epoch,
                    double total_steps) {
  // The share of the run that is over; a step beyond the end gets the rate of the end.
  const double done = total_steps > 0 ? std::min(step / total_steps, 1.0) : 0;
  if (spec.policy == "constant") return 1;
  if (spec.policy == "step") {
    const double steps_per_drop = spec.step_epochs * steps_per_epoch;
    return steps_per_drop > 0 ? std::pow(spec.gamma, std::floor(step / steps_per_drop)) : 1;
  }
  if (spec.policy == "multi-step") {
    if (steps_per_epoch <= 0) return 1;
    const auto passed = std::count_if(
        spec.milestones.begin(), spec.milestones.end(),
        [&](int64_t epoch) { return step >= static_cast<double>(epoch) * steps_per_epoch; });
    return std::pow(spec.gamma, static_cast<double>(passed));
  }
  if (spec.policy == "exponential") {
    return steps_per_epoch > 0 ? std::pow(spec.gamma, step / steps_per_epoch) : 1;
  }
  if (spec.policy == "inverse") return std::pow(1 + spec.gamma * step, -spec.power);
  if (spec.policy == "poly") return std::pow(1 - done, spec.power);
  if (spec.policy == "cosine") {
    return spec.floor + (1 - spec.floor) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }
  return kUnknown;
}

}  // namespace

double LearningRate(const LearningRateSpec& spec, uint64_t step, uint64_t steps_per_epoch,
                    uint64_t total_steps, int workers) {
  const double t = static_cast<double>(step);
  const double warmup_steps = std::round(spec.warmup_epochs * static_cast<double>(steps_per_epoch));
  const double ramp = t < warmup_steps ? (t + 1) / warmup_steps : 1;
  return ScaledBase(spec, workers) * ramp *
         PolicyFactor(spec, t, static_cast<double>(steps_per_epoch),
                      static_cast<double>(total_steps));
}

}  // namespace gg
