// SPDX-License-Identifier: Apache-2.0
//
// Charts as SVG elements for Page, whose style they rely on. What cannot be drawn is said below the
// chart. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_REPORT_CHARTS_H_
#define GOSSIPGRAD_GGCTL_REPORT_CHARTS_H_

#include <string>
#include <utility>
#include <vector>

#include "ggctl/report/axis.h"

namespace gg {

using Point = std::pair<double, double>;
using ValueText = std::string (*)(double value);

struct Series {
  std::string name;
  std::vector<Point> points;              // the line; points that are not finite are left out
  std::vector<std::vector<Point>> faint;  // thin lines behind it
};

struct LineChart {
  std::string title;
  std::string x_name, y_name;
  ValueText x_text, y_text;  // of the marks
  Scale y_scale = Scale::kLinear;
  std::vector<Series> series;  // the place in this list is the colour, so keep it over charts
};
std::string Draw(const LineChart& chart);

struct Bar {
  std::string name;
  double value = 0;  // not finite = not known
  double spread = 0;
};
struct BarChart {
  std::string title;
  ValueText text;
  std::vector<Bar> bars;
};
std::string Draw(const BarChart& chart);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_REPORT_CHARTS_H_
