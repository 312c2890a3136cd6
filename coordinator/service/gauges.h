// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's metrics, from its state and its decisions.
// Thread-safety: owned by the loop thread.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_GAUGES_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_GAUGES_H_

#include <functional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/state/decide.h"
#include "core/metrics/sink.h"

namespace gg {

class Gauges {
 public:
  Gauges(MetricSink* sink, std::function<void(absl::string_view)> forget_progress);

  void Count(const Decision& decision);
  // At most once a second: everything that is a level.
  void Update(const ClusterState& state, int64_t store_bytes, absl::Time now);

 private:
  MetricSink* const sink_;
  const std::function<void(absl::string_view)> forget_progress_;
  absl::Time updated_ = absl::InfinitePast();
  std::set<std::string> shown_jobs_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_GAUGES_H_
