// SPDX-License-Identifier: Apache-2.0
#include "ggctl/report/axis.h"

#include <algorithm>
#include <cmath>

namespace gg {
namespace {

constexpr size_t kLeastMarks = 3;

// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
double RoundStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> EvenMarks(double low, double high, int wanted) {
  std::vector<double> marks;
  const double step = RoundStep((high - low) / wanted);
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
    marks.push_back(i == 0 ? 0 : i * step);
  return marks;
}

}  // namespace

Axis Axis::Fitting(const std::vector<double>& values, Scale scale) {
  Axis axis(scale, 0, 1);
  bool any = false;
  for (const double value : values) {
    if (!axis.Holds(value)) continue;
    axis.low_ = any ? std::min(axis.low_, value) : value;
    axis.high_ = any ? std::max(axis.high_, value) : value;
    any = true;
  }
  if (scale == Scale::kLog) {
    if (!any) return Axis(scale, 1, 10);
    if (axis.high_ < axis.low_ * 1.5) {  // marks need some room
      axis.low_ /= 1.25;
      axis.high_ *= 1.25;
    }
    return axis;
  }
  if (!any) return axis;
  if (!(axis.high_ > axis.low_)) {
    const double room = axis.low_ == 0 ? 1 : std::abs(axis.low_) / 2;
    if (axis.low_ != 0) axis.low_ -= room;
    axis.high_ += room;
  }
  return axis;
}

bool Axis::Holds(double value) const {
  return std::isfinite(value) && (scale_ == Scale::kLinear || value > 0);
}

double Axis::Place(double value) const {
  if (scale_ == Scale::kLog) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

std::vector<double> Axis::Marks(int wanted) const {
  std::vector<double> marks;
  if (scale_ == Scale::kLog) {
    const double decades = std::log10(high_ / low_);
    const int first = static_cast<int>(std::floor(std::log10(low_)));
    const int last = static_cast<int>(std::ceil(std::log10(high_)));
    const int stride = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
    for (int exponent = first; exponent <= last; ++exponent) {
      if ((exponent - first) % stride != 0) continue;
      for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor > 1 && decades > 0.6 * wanted) continue;
        const double mark = factor * std::pow(10, exponent);
        if (mark >= low_ && mark <= high_) marks.push_back(mark);
      }
    }
    // Within a decade the few of 1, 2, 5 that are there may be one or none.
    if (decades >= 1) return marks;
    for (int more = wanted; marks.size() < kLeastMarks; more *= 2)
      marks = EvenMarks(low_, high_, more);
    return marks;
  }
  return EvenMarks(low_, high_, wanted);
}

}  // namespace gg
