// SPDX-License-Identifier: Apache-2.0
//
// One training worker without a network: several blocks of parameters, each pulled towards a target
// of this worker's own by a quadratic loss, driven through an ExchangeStrategy by the hooks of the
// real training loop. Small enough to be followed by a dense oracle in double precision.
//
// Thread-safety: thread-compatible; metrics and incidents are read after the worker has stopped.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_SIM_WORKER_H_
#define GOSSIPGRAD_TESTS_SUPPORT_SIM_WORKER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/metrics/sink.h"
#include "worker/exchange/exchange.h"

namespace gg {

// Sums of counters, last values of gauges, and all that histograms were told.
class RecordingSink final : public MetricSink {
 public:
  void Add(CounterId id, double amount, LabelValues labels) override;
  void Set(GaugeId id, double value, LabelValues labels) override;
  void Observe(HistogramId id, double value, LabelValues labels) override;
  // Of the series whose first label has this value.
  double counter(CounterId id, absl::string_view label) const;
  // The last value of a gauge without labels; NaN when it was never set.
  double gauge(GaugeId id) const;
  std::vector<double> observed(HistogramId id) const;

 private:
  mutable Mutex mu_;
  std::map<std::pair<CounterId, std::string>, double> counters_ ABSL_GUARDED_BY(mu_);
  std::map<GaugeId, double> gauges_ ABSL_GUARDED_BY(mu_);
  std::map<HistogramId, std::vector<double>> observed_ ABSL_GUARDED_BY(mu_);
};

struct SimModel {
  // Floats of the blocks in back-propagation order; the arena pads them.
  std::vector<int64_t> blocks = {5, 40, 3, 17};
  size_t buffer_floats = 0;
  double momentum = 0.5;
  bool nesterov = false;
  // Adam in place of momentum, with these shares of the moments and this epsilon.
  bool adam = false;
  double beta1 = 0.8, beta2 = 0.9, epsilon = 1e-3;
  uint64_t seed = 1;
  // Gradient of element i of `rank` at `step` is curvature (w - Target()) + Noise().
  double curvature = 0.5;
  bool noise = true;
  // Of the replicas in means, by rank, repeated from the start; they are divided by their mean. Empty: all equal.
  std::vector<double> weights = {};

  double Weight(Rank rank, int size) const;

  double Rate(uint64_t step) const { return 0.2 / (1 + 0.1 * static_cast<double>(step)); }
  double Target(Rank rank, size_t i) const;
  double Noise(Rank rank, uint64_t step, size_t i) const;
  double Initial(size_t i) const;  // the same on all ranks
  // What element i of the mean of `size` replicas is after `steps`, whatever keeps that mean: for
  // curvature 0, so that no gradient depends on the weights.
  double MeanAfter(uint64_t steps, int size, size_t i) const;
};

class SimWorker {
 public:
  // `group` may be null when size is 1.
  SimWorker(const SimModel& model, ExchangeSpec spec, int size, Rank rank, Clock& clock,
            PeerGroup* group);
  ~SimWorker();

  // One step by the hooks of the training loop.
  absl::StatusOr<ExchangeStats> Step(uint64_t step);
  // After a block's gradient has been written and its GradientReady has returned.
  std::function<void(BlockIndex)> after_block;

  ExchangeStrategy& exchange() { return *exchange_; }
  ParamArena& arena() { return *arena_; }
  const RecordingSink& metrics() const { return metrics_; }
  const std::vector<PartnerIncident>& incidents() const { return incidents_; }

  std::vector<float> Weights() { return Values(arena_->weights()); }
  std::vector<float> Momentum() { return Values(arena_->momentum()); }
  static std::vector<float> Values(ConstFlat values) { return {values.begin(), values.end()}; }

  // The place of each parameter in the arena, without the padding.
  std::vector<size_t> ParameterOffsets() const;

 private:
  absl::Status Update(size_t offset, size_t count, uint64_t step);

  const SimModel model_;
  const Rank rank_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<ParamArena> arena_;
  RecordingSink metrics_;
  std::vector<PartnerIncident> incidents_;
  std::unique_ptr<ExchangeStrategy> exchange_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_SIM_WORKER_H_
