// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's metrics, from its state and its decisions. What is said of a job is said of the
// newest job of its name and leaves with its record. Two of them are computed here:
//   consensus_distance  the result's, once there is one. Until then the estimate of results.h from
//     the last distances that the workers measured to their partners.
//   straggler_score  t_i / median_j t_j with t_i = (1 - r_i) / v_i: v_i the worker's samples per
//     second, r_i the share of its time that it waited for partners. Waiting is taken out because
//     partners of a slow worker are slowed down by it, and the culprit is wanted.
// Thread-safety: owned by the loop thread.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_GAUGES_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_GAUGES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/state/decide.h"
#include "core/metrics/sink.h"

namespace gg {

class Gauges {
 public:
  // `sink` must outlive this.
  explicit Gauges(MetricSink* sink) : sink_(sink) {}

  void Count(const Decision& decision);
  // At most once a second: everything that is a level.
  void Update(const ClusterState& state, int64_t store_bytes, absl::Time now);

 private:
  struct Shown {
    uint64_t number = 0;
    uint64_t revision = 0;
  };
  void UpdateJobs(const ClusterState& state, absl::Time now);
  void ShowJob(const Job& job);
  void ShowPace(const Job& job);
  void ForgetJob(const std::string& name);
  void UpdateWorkers(const ClusterState& state, absl::Time now);

  MetricSink* const sink_;
  absl::Time updated_ = absl::InfinitePast();
  std::map<std::string, Shown> shown_;  // by name
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_GAUGES_H_
