// SPDX-License-Identifier: Apache-2.0
#include "telemetry/prometheus_sink.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/sync.h"
#include "telemetry/build_version.h"
#include "telemetry/openmetrics.h"
#include "telemetry/process_usage.h"

namespace gg {
namespace {

using Values = std::vector<std::string>;
using ValueViews = absl::Span<const absl::string_view>;

// What a value becomes that is not among the known ones of its label: the number of series must not
// depend on what a call site makes up.
constexpr absl::string_view kUnknown = "unknown";

struct ByValue {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

// Few and coarse: each bound is one more series of every worker.
prometheus::Histogram::BucketBoundaries Buckets(HistogramId id) {
  switch (id) {
    case HistogramId::kStepDuration:
      return {0.003, 0.01, 0.03, 0.1, 0.3, 1, 3};
    case HistogramId::kExchangeDuration:
      return {0.001, 0.01, 0.1, 1};
    case HistogramId::kMessageAge:
      return {0, 1, 2, 4, 8, 16};
    case HistogramId::kStoreCommit:
      return {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1};
    case HistogramId::kGrpcHandling:
      return {0.001, 0.01, 0.1, 1, 10};
  }
  return {};
}

bool Concerns(const MetricInfo& info, MetricSide side) {
  if (info.scope == "both") return true;
  return (side == MetricSide::kCoordinator) == (info.scope == "coordinator");
}

// One metric of the catalogue: its family and its series by the values of the variable labels.
template <typename Metric>
struct Series {
  std::vector<LabelInfo> labels;
  bool of_job = false;
  prometheus::Family<Metric>* family = nullptr;  // null: does not concern this side
  std::map<Values, Metric*, ByValue> by_values;  // of the process, or of the job that runs
  std::vector<Metric*> ended;                    // of the job that ended last

  void ClearEnded() {
    for (Metric* metric : ended) family->Remove(metric);
    ended.clear();
  }
  void End() {
    ClearEnded();
    for (auto& [values, metric] : by_values) ended.push_back(metric);
    by_values.clear();
  }
  void Forget(ValueViews first) {
    for (auto it = by_values.lower_bound(first); it != by_values.end();) {
      const Values& values = it->first;
      if (values.size() < first.size() || !std::equal(first.begin(), first.end(), values.begin())) {
        return;
      }
      family->Remove(it->second);
      it = by_values.erase(it);
    }
  }
};

class Sink final : public PrometheusSink {
 public:
  Sink(MetricSide side, absl::string_view worker, Clock& clock) : worker_(worker), clock_(clock) {
    const auto make = [&](const auto& infos, auto& series, auto builder) {
      for (const MetricInfo& info : infos) {
        auto& one = series.emplace_back();
        one.labels = LabelsOf(info);
        if (!Concerns(info, side)) continue;
        one.of_job = info.scope == "job";
        one.family = &builder()
                          .Name(std::string(info.name))
                          .Help(std::string(info.help))
                          .Register(registry_);
      }
    };
    make(CounterInfos(), counters_, prometheus::BuildCounter);
    make(GaugeInfos(), gauges_, prometheus::BuildGauge);
    make(HistogramInfos(), histograms_, prometheus::BuildHistogram);
    MakeProcessFamilies();
    MutexLock lock(&mu_);
    Initialise(/*of_job=*/false);
  }

  void BeginJob(absl::string_view train_job) override {
    MutexLock lock(&mu_);
    EndLocked();
    // The new series would be the same ones: a counter that starts again from 0.
    if (train_job == train_job_) ForEachOfJob([](auto& series) { series.ClearEnded(); });
    train_job_ = std::string(train_job);
    has_job_ = true;
    Initialise(/*of_job=*/true);
  }

  void EndJob() override {
    MutexLock lock(&mu_);
    EndLocked();
  }

  void Add(CounterId id, double amount, LabelValues labels) override {
    MutexLock lock(&mu_);
    // A counter that went down would read as a restart; !(>= 0) also refuses NaN.
    if (!(amount >= 0)) return;
    if (prometheus::Counter* counter = At(counters_[static_cast<size_t>(id)], labels.values())) {
      counter->Increment(amount);
    }
  }

  void Set(GaugeId id, double value, LabelValues labels) override {
    MutexLock lock(&mu_);
    if (prometheus::Gauge* gauge = At(gauges_[static_cast<size_t>(id)], labels.values())) {
      gauge->Set(value);
    }
  }

  void Observe(HistogramId id, double value, LabelValues labels) override {
    MutexLock lock(&mu_);
    auto& series = histograms_[static_cast<size_t>(id)];
    if (prometheus::Histogram* histogram = At(series, labels.values(), Buckets(id))) {
      histogram->Observe(value);
    }
  }

  void Forget(GaugeId id, LabelValues labels) override {
    MutexLock lock(&mu_);
    auto& series = gauges_[static_cast<size_t>(id)];
    if (series.family != nullptr) series.Forget(labels.values());
  }

  std::string Text(MetricsFormat format) override {
    std::vector<prometheus::MetricFamily> families;
    {
      MutexLock lock(&mu_);
      if (ended_shown_ && clock_.Now() >= ended_until_) {
        ForEachOfJob([](auto& series) { series.ClearEnded(); });
      }
      ended_shown_ = true;
      UpdateProcessFamilies();
      families = registry_.Collect();
    }
    // A family without a series says nothing, and OpenMetrics' readers differ about it.
    std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
    if (format == MetricsFormat::kOpenMetrics) return OpenMetricsText(families);
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families);
    return out.str();
  }

 private:
  // The series for `values`, made when it is not there yet. Null when the metric has no series on
  // this side or now.
  template <typename Metric, typename... Args>
  Metric* At(Series<Metric>& series, ValueViews values, Args&&... args)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (series.family == nullptr || (series.of_job && !has_job_)) return nullptr;
    const auto found = series.by_values.find(values);
    if (found != series.by_values.end()) return found->second;
    assert(values.size() == series.labels.size());
    if (values.size() != series.labels.size()) return nullptr;
    Values key(values.begin(), values.end());
    bool all_known = true;
    for (size_t i = 0; i < key.size(); ++i) {
      const Values& known = series.labels[i].values;
      if (known.empty() || key[i] == kUnknown) continue;
      if (std::find(known.begin(), known.end(), key[i]) != known.end()) continue;
      key[i] = std::string(kUnknown);
      all_known = false;
    }
    if (!all_known) {
      const std::vector<absl::string_view> shown(key.begin(), key.end());
      return At(series, shown, std::forward<Args>(args)...);
    }
    prometheus::Labels labels;
    if (!worker_.empty()) labels["worker"] = worker_;
    if (series.of_job) labels["train_job"] = train_job_;
    for (size_t i = 0; i < key.size(); ++i) labels[series.labels[i].name] = key[i];
    Metric* metric = &series.family->Add(labels, std::forward<Args>(args)...);
    series.by_values.emplace(std::move(key), metric);
    return metric;
  }

  // Series that are to be seen before anything happens: those of which all labels are known.
  void Initialise(bool of_job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (auto& series : counters_) {
      if (series.of_job == of_job) MakeKnown(series);
    }
    for (size_t i = 0; i < histograms_.size(); ++i) {
      if (histograms_[i].of_job == of_job) {
        MakeKnown(histograms_[i], Buckets(static_cast<HistogramId>(i)));
      }
    }
  }

  template <typename Metric, typename... Args>
  void MakeKnown(Series<Metric>& series, const Args&... args) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<std::vector<absl::string_view>> all = {{}};
    for (const LabelInfo& label : series.labels) {
      std::vector<std::vector<absl::string_view>> longer;
      for (const auto& begun : all) {
        for (const std::string& value : label.values) {
          longer.push_back(begun);
          longer.back().push_back(value);
        }
      }
      all = std::move(longer);
    }
    for (const auto& values : all) At(series, values, args...);
  }

  template <typename Do>
  void ForEachOfJob(Do&& act) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto each = [&act](auto& all) {
      for (auto& series : all) {
        if (series.of_job && series.family != nullptr) act(series);
      }
    };
    each(counters_);
    each(gauges_);
    each(histograms_);
  }

  void EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!has_job_) return;
    ForEachOfJob([](auto& series) { series.End(); });
    has_job_ = false;
    ended_until_ = clock_.Now() + kSeriesOutliveJob;
    ended_shown_ = false;
  }

  void MakeProcessFamilies() {
    prometheus::BuildGauge()
        .Name("gossipgrad_build_info")
        .Help("Always 1; its labels say what is running.")
        .Register(registry_)
        .Add({{"version", std::string(SoftwareVersion())},
              {"compiler", std::string(CompilerVersion())}})
        .Set(1);
    cpu_seconds_ = &prometheus::BuildCounter()
                        .Name("process_cpu_seconds_total")
                        .Help("Total user and system CPU time spent in seconds.")
                        .Register(registry_)
                        .Add({});
    const auto gauge = [this](const char* name, const char* help, double ProcessUsage::*field) {
      process_gauges_.emplace_back(
          &prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add({}), field);
    };
    gauge("process_resident_memory_bytes", "Resident memory size in bytes.",
          &ProcessUsage::resident_bytes);
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.",
          &ProcessUsage::virtual_bytes);
    gauge("process_open_fds", "Number of open file descriptors.", &ProcessUsage::open_fds);
    gauge("process_max_fds", "Maximum number of open file descriptors.", &ProcessUsage::max_fds);
    gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
          &ProcessUsage::start_time_seconds);
    gauge("process_threads", "Number of OS threads in the process.", &ProcessUsage::threads);
  }

  void UpdateProcessFamilies() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const ProcessUsage usage = ReadProcessUsage();
    if (usage.cpu_seconds > cpu_seconds_->Value()) {
      cpu_seconds_->Increment(usage.cpu_seconds - cpu_seconds_->Value());
    }
    for (const auto& [gauge, field] : process_gauges_) gauge->Set(usage.*field);
  }

  // Constant after construction.
  const std::string worker_;
  Clock& clock_;
  prometheus::Counter* cpu_seconds_ = nullptr;
  std::vector<std::pair<prometheus::Gauge*, double ProcessUsage::*>> process_gauges_;

  mutable Mutex mu_;
  prometheus::Registry registry_;
  std::string train_job_ ABSL_GUARDED_BY(mu_);
  bool has_job_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time ended_until_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  bool ended_shown_ ABSL_GUARDED_BY(mu_) = false;          // on a page since the job's end
  std::vector<Series<prometheus::Counter>> counters_;      // by CounterId
  std::vector<Series<prometheus::Gauge>> gauges_;          // by GaugeId
  std::vector<Series<prometheus::Histogram>> histograms_;  // by HistogramId
};

}  // namespace

std::unique_ptr<PrometheusSink> PrometheusSink::Make(MetricSide side, absl::string_view worker,
                                                     Clock& clock) {
  return std::make_unique<Sink>(side, worker, clock);
}

}  // namespace gg
