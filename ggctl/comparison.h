// SPDX-License-Identifier: Apache-2.0
//
// The outcomes of `ggctl compare` and what they come to over the seeds. Runs that did not succeed
// count in no mean. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_COMPARISON_H_
#define GOSSIPGRAD_GGCTL_COMPARISON_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/spec/job_spec.h"
#include "ggctl/compare_plan.h"
#include "ggctl/job_json.h"

namespace gg {

struct ComparedRun {
  size_t item = 0;  // in Comparison::items
  uint64_t seed = 0;
  RunOutcome outcome;
  bool succeeded() const { return outcome.exit_code == 0; }
};

struct Comparison {
  JobSpec spec;  // without what the items set
  std::vector<CompareItem> items;
  int64_t seeds = 1;
  double target = 0;              // test accuracy of the replicas, 0..1
  std::vector<ComparedRun> runs;  // in the order they were made
  bool any_succeeded() const;
};

// Mean and sample standard deviation of the values there are.
struct Spread {
  int count = 0;
  double mean = 0;       // of no value: 0
  double deviation = 0;  // of fewer than two: 0
};
Spread SpreadOf(const std::vector<double>& values);

struct ItemSummary {
  int runs = 0, succeeded = 0;
  Spread accuracy;                       // of the averaged model
  Spread target_epochs, target_seconds;  // count = runs that reached the target
  Spread samples_per_second;
  Spread messages_per_step, bytes_per_step;  // per worker
  Spread exposed;                            // share of step time spent waiting for a partner
  Spread distance;                           // consensus distance before the final average
};
ItemSummary Summarize(const Comparison& comparison, size_t item);

// The first point of the curve at or above the target; nullptr when it was never reached.
const gossipgrad::v1::EpochPoint* FirstAt(const RunOutcome& outcome, double target);

// One line of a chart: the curves of the item's succeeded runs, `x` against `y`. Values that are
// not known are NaN.
using PointValue = std::function<double(const gossipgrad::v1::EpochPoint&)>;
struct ItemCurves {
  std::vector<std::pair<double, double>>
      mean;  // over the runs, at the epochs that all of them have
  std::vector<std::vector<std::pair<double, double>>> each;
};
ItemCurves CurvesOf(const Comparison& comparison, size_t item, const PointValue& x,
                    const PointValue& y);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_COMPARISON_H_
