// SPDX-License-Identifier: Apache-2.0
#include "telemetry/prometheus_sink.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "core/sync.h"
#include "telemetry/build_version.h"
#include "telemetry/process_usage.h"

namespace gg {
namespace {

// Values of a variable label that are known beforehand: their series exist from the start, so that
// rate() sees the first event. "" where they turn up as they come.
absl::string_view KnownLabels(CounterId id) {
  switch (id) {
    case CounterId::kStepPhaseSeconds:
      return "data,forward,backward,optimizer,comm_wait,mix,other";
    case CounterId::kGossipExchanges:
      return "ok,late,lost";
    case CounterId::kGossipMessages:
    case CounterId::kGossipBytes:
    case CounterId::kTradedSamples:
      return "sent,received";
    case CounterId::kGossipSkipped:
      return "late,lost,corrupt,nonfinite";
    case CounterId::kNonFinite:
      return "loss,exchange,weights";
    case CounterId::kTransportDropped:
      return "stale,checksum";
    case CounterId::kJobsFinished:
      return "succeeded,failed,cancelled";
    case CounterId::kLogMessages:
      return "debug,info,warning,error";
    default:
      return "";
  }
}

prometheus::Histogram::BucketBoundaries Buckets(HistogramId id) {
  switch (id) {
    case HistogramId::kStepDuration:
      return {0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};
    case HistogramId::kExchangeDuration:
    case HistogramId::kExchangeWait:
      return {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1, 5};
    case HistogramId::kStoreCommit:
      return {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1};
  }
  return {};
}

bool Concerns(const MetricInfo& info, MetricSide side) {
  return info.side == "both" ||
         info.side == (side == MetricSide::kWorker ? "worker" : "coordinator");
}

// One metric of the catalogue: its family and its series by the value of the variable label.
template <typename Metric>
struct Series {
  const MetricInfo* info = nullptr;
  bool of_job = false;
  prometheus::Family<Metric>* family = nullptr;  // null: does not concern this side
  std::map<std::string, Metric*, std::less<>> by_label;

  void Clear() {
    for (auto& [label, metric] : by_label) family->Remove(metric);
    by_label.clear();
  }
};

class Sink final : public PrometheusSink {
 public:
  Sink(MetricSide side, absl::string_view worker) : worker_(worker) {
    const auto make = [&](const auto& infos, auto& series, auto builder) {
      for (const MetricInfo& info : infos) {
        auto& one = series.emplace_back();
        one.info = &info;
        if (!Concerns(info, side)) continue;
        one.of_job = info.side == "worker" && &info != &ControlStreamInfo();
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
    ClearJob();
    train_job_ = std::string(train_job);
    has_job_ = true;
    Initialise(/*of_job=*/true);
  }

  void EndJob() override {
    MutexLock lock(&mu_);
    ClearJob();
  }

  void Forget(GaugeId id, absl::string_view label) override {
    MutexLock lock(&mu_);
    auto& series = gauges_[static_cast<size_t>(id)];
    const auto found = series.by_label.find(label);
    if (found == series.by_label.end()) return;
    series.family->Remove(found->second);
    series.by_label.erase(found);
  }

  void Add(CounterId id, double amount, absl::string_view label) override {
    MutexLock lock(&mu_);
    // A counter that went down would read as a restart; !(>= 0) also refuses NaN.
    if (!(amount >= 0)) return;
    if (prometheus::Counter* counter = At(counters_[static_cast<size_t>(id)], label)) {
      counter->Increment(amount);
    }
  }

  void Set(GaugeId id, double value, absl::string_view label) override {
    MutexLock lock(&mu_);
    if (prometheus::Gauge* gauge = At(gauges_[static_cast<size_t>(id)], label)) gauge->Set(value);
  }

  void Observe(HistogramId id, double value, absl::string_view label) override {
    MutexLock lock(&mu_);
    auto& series = histograms_[static_cast<size_t>(id)];
    if (prometheus::Histogram* histogram = At(series, label, Buckets(id))) {
      histogram->Observe(value);
    }
  }

  std::string Text() const override {
    std::vector<prometheus::MetricFamily> families;
    {
      MutexLock lock(&mu_);
      UpdateProcessFamilies();
      families = registry_.Collect();
    }
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families);
    return out.str();
  }

 private:
  // Whether the control stream stands is true of the process, not of a job.
  static const MetricInfo& ControlStreamInfo() {
    return GaugeInfos()[static_cast<size_t>(GaugeId::kCoordinatorConnected)];
  }

  // The series for `label`, made when it is not there yet. Null when the metric has no series on
  // this side or now.
  template <typename Metric, typename... Args>
  Metric* At(Series<Metric>& series, absl::string_view label, Args&&... args)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (series.family == nullptr || (series.of_job && !has_job_)) return nullptr;
    const auto found = series.by_label.find(label);
    if (found != series.by_label.end()) return found->second;
    prometheus::Labels labels;
    if (!worker_.empty()) labels["worker"] = worker_;
    if (series.of_job) labels["train_job"] = train_job_;
    if (!series.info->label.empty()) {
      labels[std::string(series.info->label)] = std::string(label);
    }
    Metric* metric = &series.family->Add(labels, std::forward<Args>(args)...);
    series.by_label.emplace(std::string(label), metric);
    return metric;
  }

  // Series that are to be seen before anything happens.
  void Initialise(bool of_job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (size_t i = 0; i < counters_.size(); ++i) {
      if (counters_[i].of_job != of_job) continue;
      if (counters_[i].info->label.empty()) At(counters_[i], "");
      for (absl::string_view label :
           absl::StrSplit(KnownLabels(static_cast<CounterId>(i)), ',', absl::SkipEmpty())) {
        At(counters_[i], label);
      }
    }
    for (size_t i = 0; i < histograms_.size(); ++i) {
      if (histograms_[i].of_job != of_job || !histograms_[i].info->label.empty()) continue;
      At(histograms_[i], "", Buckets(static_cast<HistogramId>(i)));
    }
  }

  void ClearJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto clear = [](auto& all) {
      for (auto& series : all) {
        if (series.of_job && series.family != nullptr) series.Clear();
      }
    };
    clear(counters_);
    clear(gauges_);
    clear(histograms_);
    has_job_ = false;
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
  prometheus::Counter* cpu_seconds_ = nullptr;
  std::vector<std::pair<prometheus::Gauge*, double ProcessUsage::*>> process_gauges_;

  mutable Mutex mu_;
  prometheus::Registry registry_;
  std::string train_job_ ABSL_GUARDED_BY(mu_);
  bool has_job_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Series<prometheus::Counter>> counters_;      // by CounterId
  std::vector<Series<prometheus::Gauge>> gauges_;          // by GaugeId
  std::vector<Series<prometheus::Histogram>> histograms_;  // by HistogramId
};

}  // namespace

std::unique_ptr<PrometheusSink> PrometheusSink::Make(MetricSide side, absl::string_view worker) {
  return std::make_unique<Sink>(side, worker);
}

std::string MetricsMarkdown() {
  std::string out =
      "# Metrics\n\n"
      "Generated by `gg-worker --print-metrics-markdown` from `core/metrics/catalogue.h`; do not "
      "edit by hand.\n\n"
      "Every daemon serves these on `/metrics` (Prometheus text format 0.0.4). A worker's series "
      "also carry `worker`,\n"
      "and `train_job` while they belong to a job. Beside them each daemon has "
      "`gossipgrad_build_info` and the\n"
      "standard `process_*` metrics.\n\n"
      "| name | type | label | daemon | meaning |\n| --- | --- | --- | --- | --- |\n";
  const auto rows = [&out](absl::Span<const MetricInfo> infos, absl::string_view type) {
    for (const MetricInfo& info : infos) {
      absl::StrAppend(&out, "| `", info.name, "` | ", type, " | ",
                      info.label.empty() ? "" : absl::StrCat("`", info.label, "`"), " | ",
                      info.side, " | ", info.help, " |\n");
    }
  };
  rows(CounterInfos(), "counter");
  rows(GaugeInfos(), "gauge");
  rows(HistogramInfos(), "histogram");
  return out;
}

}  // namespace gg
