// SPDX-License-Identifier: Apache-2.0
#include "ggctl/report/charts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ggctl/report/page.h"

namespace gg {
namespace {

// In units of the drawing, which a browser scales.
constexpr double kWidth = 600, kHeight = 340;
constexpr double kLeft = 62, kRight = 186, kTop = 10, kBottom = 46;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr double kNameHeight = 15;
constexpr double kBarPitch = 26, kBarHeight = 16, kBarLeft = 190, kBarRight = 110;
constexpr size_t kLongestName = 24;  // characters that fit beside a chart

std::string Number(double value) {
  return absl::StrFormat("%.1f", value);
}

// Names are cut in the middle: both the method and its last setting tell.
std::string Short(absl::string_view name) {
  const std::string text = AsText(name);
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  }
  if (starts.size() <= kLongestName) return text;
  const size_t half = kLongestName / 2;
  return absl::StrCat(text.substr(0, starts[half]), "\u2026",
                      text.substr(starts[starts.size() - half + 1]));
}

std::string Text(double x, double y, absl::string_view anchor, absl::string_view text,
                 absl::string_view more = "") {
  return absl::StrCat("<text x=\"", Number(x), "\" y=\"", Number(y), "\" text-anchor=\"", anchor,
                      "\"", more, ">", Escaped(text), "</text>");
}

std::string Line(double x1, double y1, double x2, double y2, absl::string_view style) {
  return absl::StrCat("<line x1=\"", Number(x1), "\" y1=\"", Number(y1), "\" x2=\"", Number(x2),
                      "\" y2=\"", Number(y2), "\" class=\"", style, "\"/>");
}

std::string StyleOf(size_t series) {
  return absl::StrCat("c", series % kPageColors, " d", series / kPageColors % 4);
}

// Without a drawing only what is missing is said: empty axes would look like a fault.
std::string Figure(absl::string_view title, double width, double height, const std::string& drawing,
                   const std::vector<std::string>& missing) {
  std::string out = absl::StrCat("<figure><figcaption>", Escaped(title), "</figcaption>");
  if (!drawing.empty()) {
    absl::StrAppend(&out, "<svg role=\"img\" aria-label=\"", Escaped(title), "\" viewBox=\"0 0 ",
                    width, " ", height, "\">", drawing, "</svg>");
  }
  if (!missing.empty()) {
    absl::StrAppend(&out, "<p class=\"missing\">No values to draw here: ",
                    Escaped(absl::StrJoin(missing, ", ")), "</p>");
  }
  return out + "</figure>\n";
}

class Plot {
 public:
  explicit Plot(const LineChart& chart)
      : chart_(chart),
        x_(Axis::Fitting(All(&Point::first), Scale::kLinear)),
        y_(Axis::Fitting(All(&Point::second), chart.y_scale)) {}

  std::string Draw() {
    for (const Series& series : chart_.series) {
      if (Places(series.points).empty()) missing_.push_back(series.name);
    }
    if (missing_.size() == chart_.series.size()) {
      return Figure(chart_.title, kWidth, kHeight, "", missing_);
    }
    Frame();
    for (size_t i = 0; i < chart_.series.size(); ++i) DrawFaint(i);
    for (size_t i = 0; i < chart_.series.size(); ++i) DrawLine(i);
    DrawNames();
    return Figure(chart_.title, kWidth, kHeight, out_, missing_);
  }

 private:
  struct Name {
    size_t series;
    double x, y;    // end of the line
    double beside;  // y of the name
  };

  std::vector<double> All(double Point::*coordinate) const {
    std::vector<double> values;
    const auto add = [&](const std::vector<Point>& points) {
      for (const Point& p : points) {
        if (std::isfinite(p.first) && std::isfinite(p.second)) values.push_back(p.*coordinate);
      }
    };
    for (const Series& series : chart_.series) {
      add(series.points);
      for (const auto& faint : series.faint) add(faint);
    }
    return values;
  }

  double X(double value) const { return kLeft + x_.Place(value) * kPlotWidth; }
  double Y(double value) const { return kTop + (1 - y_.Place(value)) * kPlotHeight; }
  std::vector<Point> Places(const std::vector<Point>& points) const {
    std::vector<Point> places;
    for (const auto& [x, y] : points) {
      if (x_.Holds(x) && y_.Holds(y)) places.emplace_back(X(x), Y(y));
    }
    return places;
  }

  void Frame() {
    const double bottom = kTop + kPlotHeight, right = kLeft + kPlotWidth;
    for (const double mark : y_.Marks(5)) {
      absl::StrAppend(&out_, Line(kLeft, Y(mark), right, Y(mark), "grid"),
                      Text(kLeft - 6, Y(mark) + 4, "end", chart_.y_text(mark)));
    }
    for (const double mark : x_.Marks(5)) {
      absl::StrAppend(&out_, Line(X(mark), bottom, X(mark), bottom + 4, "axis"),
                      Text(X(mark), bottom + 17, "middle", chart_.x_text(mark)));
    }
    absl::StrAppend(
        &out_, Line(kLeft, bottom, right, bottom, "axis"),
        Text(kLeft + kPlotWidth / 2, kHeight - 8, "middle", chart_.x_name),
        Text(-(kTop + kPlotHeight / 2), 13, "middle", chart_.y_name, " transform=\"rotate(-90)\""));
  }

  void Polyline(const std::vector<Point>& places, const std::string& style) {
    absl::StrAppend(&out_, "<polyline class=\"", style, "\" points=\"");
    for (const auto& [x, y] : places) absl::StrAppend(&out_, Number(x), ",", Number(y), " ");
    absl::StrAppend(&out_, "\"/>");
  }

  void DrawFaint(size_t i) {
    for (const auto& points : chart_.series[i].faint)
      Polyline(Places(points), absl::StrCat("line faint ", StyleOf(i)));
  }

  void DrawLine(size_t i) {
    const std::vector<Point> places = Places(chart_.series[i].points);
    if (places.empty()) return;
    Polyline(places, absl::StrCat("line ", StyleOf(i)));
    const auto [x, y] = places.back();
    absl::StrAppend(&out_, "<circle class=\"end ", StyleOf(i), "\" cx=\"", Number(x), "\" cy=\"",
                    Number(y), "\" r=\"3\"/>");
    names_.push_back({i, x, y, y});
  }

  // Beside the ends of the lines, moved apart where those are close.
  void DrawNames() {
    std::stable_sort(names_.begin(), names_.end(),
                     [](const Name& a, const Name& b) { return a.y < b.y; });
    double free = kTop + 4;
    for (Name& name : names_) {
      name.beside = std::max(name.y, free);
      free = name.beside + kNameHeight;
    }
    double limit = kHeight - 8;
    for (auto name = names_.rbegin(); name != names_.rend(); ++name) {
      name->beside = std::min(name->beside, limit);
      limit = name->beside - kNameHeight;
    }
    for (const Name& name : names_) {
      const double left = kLeft + kPlotWidth;
      absl::StrAppend(
          &out_,
          Line(name.x, name.y, left + 10, name.beside, absl::StrCat("lead ", StyleOf(name.series))),
          Text(left + 13, name.beside + 4, "start", Short(chart_.series[name.series].name)));
    }
  }

  const LineChart& chart_;
  const Axis x_, y_;
  std::string out_;
  std::vector<std::string> missing_;
  std::vector<Name> names_;
};

}  // namespace

std::string Draw(const LineChart& chart) {
  return Plot(chart).Draw();
}

std::string Draw(const BarChart& chart) {
  double most = 0;
  for (const Bar& bar : chart.bars) {
    if (std::isfinite(bar.value)) most = std::max(most, bar.value + bar.spread);
  }
  const double width = kWidth - kBarLeft - kBarRight;
  const double height = kBarPitch * static_cast<double>(chart.bars.size()) + 6;
  std::string out;
  std::vector<std::string> missing;
  double top = 3;
  for (size_t i = 0; i < chart.bars.size(); ++i, top += kBarPitch) {
    const Bar& bar = chart.bars[i];
    const double middle = top + kBarHeight / 2;
    absl::StrAppend(&out, Text(kBarLeft - 8, middle + 4, "end", Short(bar.name)));
    if (!std::isfinite(bar.value)) {
      missing.push_back(bar.name);
      continue;
    }
    const double length = most > 0 ? bar.value / most * width : 0;
    const double spread = most > 0 ? bar.spread / most * width : 0;
    absl::StrAppend(&out, "<rect class=\"bar ", StyleOf(i), "\" x=\"", Number(kBarLeft), "\" y=\"",
                    Number(top), "\" width=\"", Number(std::max(length, 1.0)), "\" height=\"",
                    Number(kBarHeight), "\"/>");
    if (spread > 0) {
      absl::StrAppend(&out, Line(kBarLeft + std::max(0.0, length - spread), middle,
                                 kBarLeft + length + spread, middle, "spread"));
    }
    absl::StrAppend(
        &out, Text(kBarLeft + length + spread + 6, middle + 4, "start", chart.text(bar.value)));
  }
  if (missing.size() == chart.bars.size()) out.clear();
  return Figure(chart.title, kWidth, height, out, missing);
}

}  // namespace gg
