// SPDX-License-Identifier: Apache-2.0
//
// A MetricSink that keeps every series by "name" or "name{first,second}", labels in the catalogue's
// order. Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_SERIES_SINK_H_
#define GOSSIPGRAD_TESTS_SUPPORT_SERIES_SINK_H_

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/metrics/sink.h"
#include "core/sync.h"

namespace gg {

class SeriesSink final : public MetricSink {
 public:
  void Add(CounterId id, double amount, LabelValues labels) override {
    MutexLock lock(&mu_);
    series_[Key(CounterInfos()[static_cast<size_t>(id)], labels)] += amount;
  }
  void Set(GaugeId id, double value, LabelValues labels) override {
    MutexLock lock(&mu_);
    series_[Key(GaugeInfos()[static_cast<size_t>(id)], labels)] = value;
  }
  // Counts observations.
  void Observe(HistogramId id, double, LabelValues labels) override {
    MutexLock lock(&mu_);
    ++series_[Key(HistogramInfos()[static_cast<size_t>(id)], labels)];
  }
  void Forget(GaugeId id, LabelValues labels) override {
    std::string first = Key(GaugeInfos()[static_cast<size_t>(id)], labels);
    if (!first.empty() && first.back() == '}') first.pop_back();
    MutexLock lock(&mu_);
    std::erase_if(series_, [&](const auto& one) {
      return one.first == absl::StrCat(first, "}") ||
             absl::StartsWith(one.first, absl::StrCat(first, ","));
    });
  }

  std::map<std::string, double> series() const {
    MutexLock lock(&mu_);
    return series_;
  }
  // Those whose key begins with `prefix`.
  std::map<std::string, double> Of(absl::string_view prefix) const {
    std::map<std::string, double> some;
    for (const auto& [key, value] : series()) {
      if (absl::StartsWith(key, prefix)) some[key] = value;
    }
    return some;
  }

 private:
  static std::string Key(const MetricInfo& info, const LabelValues& labels) {
    if (labels.values().empty()) return std::string(info.name);
    return absl::StrCat(info.name, "{", absl::StrJoin(labels.values(), ","), "}");
  }

  mutable Mutex mu_;
  std::map<std::string, double> series_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_SERIES_SINK_H_
