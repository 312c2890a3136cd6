// SPDX-License-Identifier: Apache-2.0
#include "ggctl/comparison.h"

#include <algorithm>
#include <cmath>

namespace gg {

namespace v1 = gossipgrad::v1;

bool Comparison::any_succeeded() const {
  return std::any_of(runs.begin(), runs.end(),
                     [](const ComparedRun& run) { return run.succeeded(); });
}

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread;
  for (const double value : values) {
    ++spread.count;
    spread.mean += (value - spread.mean) / spread.count;
  }
  if (spread.count < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / (spread.count - 1));
  return spread;
}

const v1::EpochPoint* FirstAt(const RunOutcome& outcome, double target) {
  const auto& curve = outcome.job.progress().curve();
  const auto at = std::find_if(curve.begin(), curve.end(), [&](const v1::EpochPoint& point) {
    return point.test_accuracy() >= 0 && point.test_accuracy() >= target;
  });
  return at == curve.end() ? nullptr : &*at;
}

ItemSummary Summarize(const Comparison& comparison, size_t item) {
  ItemSummary summary;
  std::vector<double> accuracy, epochs, seconds, rate, messages, bytes, exposed, distance;
  for (const ComparedRun& run : comparison.runs) {
    if (run.item != item) continue;
    ++summary.runs;
    if (!run.succeeded()) continue;
    ++summary.succeeded;
    const v1::JobResult& result = run.outcome.job.result();
    // Negative: there was no final average.
    if (result.test_accuracy() >= 0) accuracy.push_back(result.test_accuracy());
    if (result.consensus_distance() >= 0) distance.push_back(result.consensus_distance());
    rate.push_back(result.samples_per_second());
    messages.push_back(result.messages_per_step());
    bytes.push_back(result.sent_bytes_per_step());
    exposed.push_back(result.comm_wait_ratio());
    if (const v1::EpochPoint* point = FirstAt(run.outcome, comparison.target); point != nullptr) {
      epochs.push_back(point->epoch());
      seconds.push_back(point->train_seconds());
    }
  }
  summary.accuracy = SpreadOf(accuracy);
  summary.target_epochs = SpreadOf(epochs);
  summary.target_seconds = SpreadOf(seconds);
  summary.samples_per_second = SpreadOf(rate);
  summary.messages_per_step = SpreadOf(messages);
  summary.bytes_per_step = SpreadOf(bytes);
  summary.exposed = SpreadOf(exposed);
  summary.distance = SpreadOf(distance);
  return summary;
}

ItemCurves CurvesOf(const Comparison& comparison, size_t item, const PointValue& x,
                    const PointValue& y) {
  ItemCurves curves;
  for (const ComparedRun& run : comparison.runs) {
    if (run.item != item || !run.succeeded()) continue;
    auto& line = curves.each.emplace_back();
    for (const v1::EpochPoint& point : run.outcome.job.progress().curve())
      line.emplace_back(x(point), y(point));
  }
  if (curves.each.empty()) return curves;
  size_t shortest = curves.each.front().size();
  for (const auto& line : curves.each) shortest = std::min(shortest, line.size());
  for (size_t i = 0; i < shortest; ++i) {
    double sum_x = 0, sum_y = 0;
    for (const auto& line : curves.each) {
      sum_x += line[i].first;
      sum_y += line[i].second;
    }
    const double count = static_cast<double>(curves.each.size());
    curves.mean.emplace_back(sum_x / count, sum_y / count);
  }
  return curves;
}

}  // namespace gg
