// SPDX-License-Identifier: Apache-2.0
#include "ggctl/compare_html.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "ggctl/compare_text.h"
#include "ggctl/format.h"
#include "ggctl/jobfile/spec_writer.h"
#include "ggctl/report/charts.h"
#include "ggctl/report/page.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double Epoch(const v1::EpochPoint& p) {
  return p.epoch();
}
double Seconds(const v1::EpochPoint& p) {
  return p.train_seconds();
}
double SentBytes(const v1::EpochPoint& p) {
  return p.sent_bytes();
}
double Loss(const v1::EpochPoint& p) {
  return p.train_loss();
}
double Accuracy(const v1::EpochPoint& p) {
  return p.test_accuracy() >= 0 ? p.test_accuracy() : kUnknown;
}
double Distance(const v1::EpochPoint& p) {
  return p.consensus_distance() >= 0 ? p.consensus_distance() : kUnknown;
}

// Narrow spaces between the thousands of whole parts of five digits and more.
std::string Grouped(absl::string_view text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    const size_t digits = end - begin;
    const bool fraction = begin > 0 && text[begin - 1] == '.';
    for (size_t i = begin; i < end; ++i) {
      if (!fraction && digits > 4 && i > begin && (end - i) % 3 == 0) out += "\u202f";
      out += text[i];
    }
    if (digits == 0) out += text[end++];
    begin = end;
  }
  return out;
}

std::string Plain(double value) {
  const bool digits = std::abs(value) >= 1e4 && std::abs(value) < 1e9;
  return digits ? Grouped(absl::StrFormat("%.0f", value)) : absl::StrFormat("%.4g", value);
}
std::string SecondsText(double value) {
  return absl::StrCat(Plain(value), " s");
}
std::string BytesText(double value) {
  // Marks are round numbers: no zeros behind them.
  std::string text = Bytes(value);
  const size_t point = text.find('.'), space = text.find(' ');
  if (point == std::string::npos) return text;
  size_t end = space;
  while (text[end - 1] == '0') --end;
  if (end - 1 == point) --end;
  return text.erase(end, space - end);
}
std::string PercentText(double value) {
  return absl::StrFormat("%.4g%%", value * 100);
}
std::string OneDecimal(double value) {
  return Percent(value);
}

struct Along {
  const char* title;  // "epochs"
  const char* name;
  PointValue value;
  ValueText text;
};

LineChart MakeChart(const Comparison& comparison, const char* what, const Along& along,
                    const char* y_name, const PointValue& y, ValueText y_text, Scale scale) {
  LineChart chart;
  chart.title = absl::StrCat(what, " against ", along.title);
  chart.x_name = along.name;
  chart.y_name = y_name;
  chart.x_text = along.text;
  chart.y_text = y_text;
  chart.y_scale = scale;
  for (size_t i = 0; i < comparison.items.size(); ++i) {
    ItemCurves curves = CurvesOf(comparison, i, along.value, y);
    Series& series = chart.series.emplace_back();
    series.name = comparison.items[i].label;
    series.points = std::move(curves.mean);
    if (curves.each.size() > 1) series.faint = std::move(curves.each);
  }
  return chart;
}

std::vector<std::string> Figures(const Comparison& comparison) {
  const Along alongs[] = {{"epochs", "epochs", Epoch, Plain},
                          {"wall time", "seconds of training", Seconds, SecondsText},
                          {"bytes", "bytes sent by each worker", SentBytes, BytesText}};
  std::vector<std::string> figures;
  for (const Along& along : alongs) {
    figures.push_back(
        Draw(MakeChart(comparison, "Training loss", along, "loss", Loss, Plain, Scale::kLog)));
    figures.push_back(Draw(MakeChart(comparison, "Test accuracy", along, "accuracy", Accuracy,
                                     PercentText, Scale::kLinear)));
  }
  figures.push_back(Draw(MakeChart(comparison, "Consensus distance", alongs[0], "distance",
                                   Distance, Plain, Scale::kLog)));
  BarChart exposed;
  exposed.title = "Exposed communication: share of step time spent waiting for others";
  exposed.text = OneDecimal;
  for (size_t i = 0; i < comparison.items.size(); ++i) {
    const Spread share = Summarize(comparison, i).exposed;
    exposed.bars.push_back(
        {comparison.items[i].label, share.count > 0 ? share.mean : kUnknown, share.deviation});
  }
  figures.push_back(Draw(exposed));
  return figures;
}

// A table for programs as one for people.
Rows ForReaders(Rows rows) {
  for (auto& row : rows) {
    for (std::string& cell : row)
      cell = cell.empty() ? "\u2013" : Grouped(absl::StrReplaceAll(cell, {{"+-", " \u00b1 "}}));
  }
  return rows;
}

std::string Facts(const Comparison& comparison) {
  const JobSpec& spec = comparison.spec;
  return absl::StrCat(spec.model.name, ", ", spec.workers.max,
                      spec.workers.max == 1 ? " worker" : " workers", ", batches of ",
                      spec.train.batch_size, ", ", comparison.seeds,
                      comparison.seeds == 1 ? " seed" : " seeds", " from ", spec.train.seed,
                      "; all methods with the same data, seeds and rates.");
}

void AddCourse(const Comparison& comparison, Page& page) {
  page.Paragraph(
      comparison.seeds > 1
          ? "Bold: mean over the seeds. Thin: one seed. Test accuracy over the course is that of "
            "the "
            "replicas on their slices of the test set, and the distance is estimated from the "
            "distances between partners."
          : "Test accuracy over the course is that of the replicas on their slices of the test "
            "set, "
            "and the distance is estimated from the distances between partners.");
  page.Figures(Figures(comparison));
}

}  // namespace

std::string ComparisonToHtml(const Comparison& comparison) {
  Page page(absl::StrCat("Comparison of methods: ", comparison.spec.name));
  page.Paragraph(Facts(comparison));
  page.Heading("Results");
  Rows rows = ComparisonTable(comparison);
  const std::string target = absl::StrFormat("%g%%", comparison.target * 100);
  rows[0] = {"Method",
             "Runs",
             "Final accuracy",
             absl::StrCat("Epochs to ", target),
             absl::StrCat("Seconds to ", target),
             "Samples/s",
             "Messages per step",
             "Bytes per step",
             "Exposed",
             "Consensus distance"};
  // The labels are the user's own text and stay as they are.
  Rows shown = ForReaders(rows);
  for (size_t i = 0; i < rows.size(); ++i) shown[i][0] = rows[i][0];
  page.Table(shown);
  page.Paragraph(
      "Mean \u00b1 standard deviation over the seeds that succeeded. Final accuracy: the averaged "
      "model on the whole test set. Messages and bytes: of the exchange, per worker. Exposed: "
      "share "
      "of step time spent waiting for others. Consensus distance: root of the mean squared "
      "distance "
      "of the replicas from their mean, before the final average.");
  if (Rows failures = FailureTable(comparison); !failures.empty()) {
    page.Heading("Runs that failed");
    failures[0] = {"Method", "Seed", "State", "Reason"};
    page.Table(failures, /*words=*/true);
  }
  page.Heading("Course of the training");
  if (!comparison.any_succeeded()) {
    page.Paragraph("No run succeeded, so there is no course to draw.");
  } else {
    AddCourse(comparison, page);
  }
  page.Heading("Job");
  page.Paragraph(
      "What the methods share; each of them sets exchange.algorithm and what stands "
      "beside its name.");
  page.Code(JsonToYaml(JobFileJson(comparison.spec)));
  return page.Html();
}

}  // namespace gg
