// SPDX-License-Identifier: Apache-2.0
//
// The scale of one axis of a chart: from values to places, with marks at round numbers.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_REPORT_AXIS_H_
#define GOSSIPGRAD_GGCTL_REPORT_AXIS_H_

#include <vector>

namespace gg {

enum class Scale { kLinear, kLog };

class Axis {
 public:
  // Holds all of `values`; on a logarithmic scale those that are not above zero do not count. With
  // none the axis runs from 0 (or 1) to 1 (or 10).
  static Axis Fitting(const std::vector<double>& values, Scale scale);

  // Whether `value` has a place here: finite, and above zero on a logarithmic scale.
  bool Holds(double value) const;
  // 0 at the low end, 1 at the high one.
  double Place(double value) const;
  // About `wanted` round numbers, ascending, all on the axis.
  std::vector<double> Marks(int wanted) const;

 private:
  Axis(Scale scale, double low, double high) : scale_(scale), low_(low), high_(high) {}

  Scale scale_;
  double low_, high_;  // low_ < high_
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_REPORT_AXIS_H_
