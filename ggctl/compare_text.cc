// SPDX-License-Identifier: Apache-2.0
#include "ggctl/compare_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ggctl/format.h"
#include "ggctl/jobfile/spec_writer.h"

namespace gg {

namespace v1 = gossipgrad::v1;
using Json = nlohmann::ordered_json;

namespace {

Json Known(double value, bool known = true) {
  return known && std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json SpreadToJson(const Spread& spread) {
  return {{"count", spread.count},
          {"mean", Known(spread.mean, spread.count > 0)},
          {"deviation", Known(spread.deviation, spread.count > 1)}};
}

Json SummaryToJson(const CompareItem& item, const ItemSummary& s) {
  return {{"label", item.label},
          {"runs", s.runs},
          {"succeeded", s.succeeded},
          {"test_accuracy", SpreadToJson(s.accuracy)},
          {"epochs_to_target", SpreadToJson(s.target_epochs)},
          {"seconds_to_target", SpreadToJson(s.target_seconds)},
          {"samples_per_second", SpreadToJson(s.samples_per_second)},
          {"messages_per_step", SpreadToJson(s.messages_per_step)},
          {"sent_bytes_per_step", SpreadToJson(s.bytes_per_step)},
          {"comm_wait_ratio", SpreadToJson(s.exposed)},
          {"consensus_distance", SpreadToJson(s.distance)}};
}

std::string SpreadText(const Spread& spread, int digits, double factor = 1,
                       absl::string_view unit = "") {
  if (spread.count == 0) return "";
  std::string text = absl::StrFormat("%.*f", digits, spread.mean * factor);
  if (spread.count > 1) absl::StrAppendFormat(&text, "+-%.*f", digits, spread.deviation * factor);
  return absl::StrCat(text, unit);
}

// With how many of the runs reached it, unless all did.
std::string TargetText(const Spread& spread, int digits, const ItemSummary& summary) {
  std::string text = SpreadText(spread, digits);
  if (spread.count < summary.succeeded && spread.count > 0)
    absl::StrAppend(&text, "(", spread.count, "/", summary.succeeded, ")");
  return text;
}

// Distances are compared by their size, not their digits.
std::string DistanceText(const Spread& spread) {
  if (spread.count == 0) return "";
  std::string text = absl::StrFormat("%.2g", spread.mean);
  if (spread.count > 1) absl::StrAppendFormat(&text, "+-%.1g", spread.deviation);
  return text;
}

}  // namespace

std::string SpreadPercent(const Spread& spread, int digits) {
  return SpreadText(spread, digits, 100, "%");
}

Json ComparisonToJson(const Comparison& comparison) {
  Json results = Json::array(), summary = Json::array();
  for (const ComparedRun& run : comparison.runs) {
    const CompareItem& item = comparison.items[run.item];
    Json settings = Json::object();
    for (const auto& [path, value] : item.settings) settings[path] = value;
    Json row = {{"label", item.label}, {"algorithm", ""}, {"seed", 0}, {"settings", settings}};
    row.update(OutcomeToJson(run.outcome));
    row["algorithm"] = item.algorithm;  // also where the coordinator never answered
    row["seed"] = run.seed;
    row["curve"] = CurveToJson(run.outcome.job.progress());
    results.push_back(std::move(row));
  }
  for (size_t i = 0; i < comparison.items.size(); ++i)
    summary.push_back(SummaryToJson(comparison.items[i], Summarize(comparison, i)));
  Json document;
  document["results"] = std::move(results);
  document["summary"] = std::move(summary);
  document["target"] = comparison.target;
  document["spec"] = SpecToJson(comparison.spec)["spec"];
  return document;
}

Rows ComparisonTable(const Comparison& comparison) {
  const std::string target = absl::StrFormat("%g%%", comparison.target * 100);
  Rows rows = {{"ALGORITHM", "RUNS", "ACCURACY", absl::StrCat("EPOCHS-TO-", target),
                absl::StrCat("SECONDS-TO-", target), "SAMPLES/S", "MESSAGES/STEP", "BYTES/STEP",
                "EXPOSED", "DISTANCE"}};
  for (size_t i = 0; i < comparison.items.size(); ++i) {
    const ItemSummary s = Summarize(comparison, i);
    rows.push_back(
        {comparison.items[i].label,
         s.succeeded == s.runs ? absl::StrCat(s.runs) : absl::StrCat(s.succeeded, "/", s.runs),
         SpreadPercent(s.accuracy, 2), TargetText(s.target_epochs, 1, s),
         TargetText(s.target_seconds, 1, s), SpreadText(s.samples_per_second, 0),
         SpreadText(s.messages_per_step, 2), SpreadText(s.bytes_per_step, 0),
         SpreadPercent(s.exposed, 1), DistanceText(s.distance)});
  }
  return rows;
}

Rows FailureTable(const Comparison& comparison) {
  Rows rows;
  for (const ComparedRun& run : comparison.runs) {
    if (run.succeeded()) continue;
    if (rows.empty()) rows.push_back({"ALGORITHM", "SEED", "STATE", "REASON"});
    rows.push_back({comparison.items[run.item].label, absl::StrCat(run.seed), run.outcome.state,
                    run.outcome.reason});
  }
  return rows;
}

}  // namespace gg
