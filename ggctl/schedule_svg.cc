// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ggctl/schedule_view.h"

namespace gg {
namespace {

// Pixels.
constexpr double kTitle = 24;
constexpr double kLeastRadius = 82;  // of the circle of the ranks
constexpr double kRankPitch = 20;    // along that circle, so that the numbers can be read
constexpr double kRoom = 28;         // around it
constexpr double kWidth = 880;       // of as many panels as fit, or of one
constexpr size_t kMostPanels = 32;

constexpr char kHead[] = R"(  <style>
    .page { fill: #ffffff; }
    text { font: 12px sans-serif; fill: #1f2328; text-anchor: middle; dominant-baseline: central; }
    .rank { fill: #eaeef2; stroke: #57606a; }
    .edge { fill: none; stroke: #0969da; stroke-width: 1.5; }
    .tip { fill: #0969da; }
    .group { fill: none; stroke: #9a6700; stroke-dasharray: 3 3; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; }
      text { fill: #e6edf3; }
      .rank { fill: #21262d; stroke: #8b949e; }
      .edge { stroke: #58a6ff; }
      .tip { fill: #58a6ff; }
      .group { stroke: #d29922; }
    }
  </style>
  <defs>
    <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse">
      <path class="tip" d="M0 0 L8 4 L0 8 z"/>
    </marker>
  </defs>
)";

struct Point {
  double x, y;
};

// Panels in lines, all of one size.
struct Layout {
  explicit Layout(int workers)
      : radius(std::max(kLeastRadius, workers * kRankPitch / (2 * std::numbers::pi))),
        side(2 * (radius + kRoom)),
        columns(std::max<size_t>(1, static_cast<size_t>(kWidth / side))) {}

  Point Middle(size_t panel) const {
    return {side * (static_cast<double>(panel % columns) + 0.5),
            (side + kTitle) * static_cast<double>(panel / columns) + kTitle + side / 2};
  }

  double radius, side;
  size_t columns;
};

class Panel {
 public:
  Panel(const ScheduleView& view, const Layout& layout, size_t index)
      : view_(view),
        layout_(layout),
        middle_(layout.Middle(index)),
        dot_(std::min(13.0, layout.radius * std::numbers::pi / view.size * 0.8)),
        step_(index) {}

  std::string Draw() const {
    std::string out = absl::StrFormat("  <text x=\"%.1f\" y=\"%.1f\">step %d</text>\n", middle_.x,
                                      middle_.y - layout_.side / 2 - kTitle / 4, step_);
    for (const auto& group : view_.groups) {
      for (size_t i = 0; i < group.size(); ++i) {
        const Point a = Of(group[i]), b = Of(group[(i + 1) % group.size()]);
        absl::StrAppendFormat(
            &out, "  <line class=\"group\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
            a.x, a.y, b.x, b.y);
        if (group.size() == 2) break;
      }
    }
    const std::vector<Partners>& table = view_.steps[step_];
    for (Rank r = 0; r < view_.size; ++r) {
      const Rank to = table[r].send_to;
      if (to < 0) continue;
      const bool swap = table[to].send_to == r;
      if (!swap || r < to) absl::StrAppend(&out, Edge(r, to, swap));
    }
    for (Rank r = 0; r < view_.size; ++r) {
      const Point at = Of(r);
      absl::StrAppendFormat(&out, "  <circle class=\"rank\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n",
                            at.x, at.y, dot_);
      absl::StrAppendFormat(&out,
                            "  <text x=\"%.1f\" y=\"%.1f\" style=\"font-size: %.1fpx\">%d</text>\n",
                            at.x, at.y, std::min(12.0, dot_ * 1.2), r);
    }
    return out;
  }

 private:
  // Rank 0 at the top, then clockwise.
  Point Of(Rank rank) const {
    const double angle = 2 * std::numbers::pi * rank / view_.size;
    return {middle_.x + layout_.radius * std::sin(angle),
            middle_.y - layout_.radius * std::cos(angle)};
  }

  // From rim to rim of the two dots.
  std::string Edge(Rank from, Rank to, bool swap) const {
    const Point a = Of(from), b = Of(to);
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    const double cut = std::min(0.45, (dot_ + 1) / length);
    const Point unit{(b.x - a.x) * cut, (b.y - a.y) * cut};
    return absl::StrFormat(
        "  <line class=\"edge\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"%s "
        "marker-end=\"url(#tip)\"/>\n",
        a.x + unit.x, a.y + unit.y, b.x - unit.x, b.y - unit.y,
        swap ? " marker-start=\"url(#tip)\"" : "");
  }

  const ScheduleView& view_;
  const Layout& layout_;
  const Point middle_;
  const double dot_;  // radius
  const size_t step_;
};

}  // namespace

std::string ScheduleToSvg(const ScheduleView& view) {
  const Layout layout(view.size);
  const size_t steps = view.steps.size();
  const size_t panels = std::min(steps, kMostPanels);
  const size_t lines = (panels + layout.columns - 1) / layout.columns;
  const double width = layout.side * static_cast<double>(std::min(panels, layout.columns));
  const double panels_end = (layout.side + kTitle) * static_cast<double>(lines);
  const double height = panels_end + (steps > panels ? kTitle : 0);
  std::string out = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
      "%.0f\" role=\"img\">\n  <title>Schedule %s, %s</title>\n",
      width, height, width, height, view.name, Workers(view.size));
  absl::StrAppend(&out, kHead, "  <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
  for (size_t panel = 0; panel < panels; ++panel) {
    absl::StrAppend(&out, Panel(view, layout, panel).Draw());
  }
  if (steps > panels) {
    absl::StrAppendFormat(&out, "  <text x=\"%.1f\" y=\"%.1f\">left out: steps %d to %d</text>\n",
                          width / 2, panels_end + kTitle / 2, panels, steps - 1);
  }
  absl::StrAppend(&out, "</svg>\n");
  return out;
}

}  // namespace gg
