// SPDX-License-Identifier: Apache-2.0
#include "core/spec/exchange_use.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "core/spec/schema.h"

namespace gg {
namespace {

constexpr absl::string_view kAlgorithm = "spec.exchange.algorithm";
constexpr absl::string_view kSection = "spec.exchange.";

using Names = std::vector<absl::string_view>;

// These methods read the field; where `field` is not empty, only while it has this value.
struct Use {
  Names algorithms;
  absl::string_view field;
  absl::string_view value;
};

struct Entry {
  absl::string_view path;
  std::vector<Use> uses;
};

Names AllBut(const Names& some) {
  Names rest;
  for (const absl::string_view name : FindField(kAlgorithm)->choices) {
    if (std::find(some.begin(), some.end(), name) == some.end()) rest.push_back(name);
  }
  return rest;
}

std::vector<Entry> MakeTable() {
  constexpr absl::string_view kSchedule = "spec.exchange.schedule";
  constexpr absl::string_view kOverlap = "spec.exchange.overlap";
  constexpr absl::string_view kEncoding = "spec.exchange.encoding";
  constexpr absl::string_view kAsynchronous = "spec.exchange.asynchronous";
  const Names partners = {"gossip-grad", "sgp"};
  const Names steady = {"allreduce",        "allreduce-layerwise", "reduce-scatter",
                        "periodic-average", "local-sgd",           "cocod"};
  const std::vector<Use> collectives = {
      {steady, "", ""}, {{"easgd"}, kAsynchronous, "false"}, {partners, kSchedule, "hierarchical"}};
  const std::vector<Use> guarded = {{{"gossip-grad", "d-psgd", "sgp", "gosgd", "ad-psgd"}, "", ""},
                                    {{"easgd"}, kAsynchronous, "true"}};
  return {
      {kSchedule, {{partners, "", ""}}},
      {"spec.exchange.graph_file", {{partners, kSchedule, "graph"}}},
      {"spec.exchange.topology", {{partners, kSchedule, "hierarchical"}}},
      {"spec.exchange.rotate", {{partners, "", ""}}},
      {"spec.exchange.payload",
       {{AllBut({"allreduce", "allreduce-layerwise", "reduce-scatter", "periodic-average", "cocod",
                 "none"}),
         "", ""}}},
      {kOverlap, {{partners, "", ""}}},
      {"spec.exchange.average_every", {{AllBut(steady), "", ""}}},
      {"spec.exchange.bucket_bytes",
       {{{"gossip-grad", "allreduce-layerwise", "reduce-scatter", "d-psgd"}, "", ""},
        {{"sgp"}, kSchedule, "hierarchical"}}},
      {"spec.exchange.period", {{{"periodic-average", "local-sgd", "cocod", "easgd"}, "", ""}}},
      {"spec.exchange.local_from_epoch", {{{"local-sgd"}, "", ""}}},
      {"spec.exchange.collective", collectives},
      {"spec.exchange.collective_seconds", collectives},
      {kEncoding, {{AllBut({"none"}), "", ""}}},
      {"spec.exchange.topk_share", {{AllBut({}), kEncoding, "topk"}}},
      {"spec.exchange.push_probability", {{{"gosgd"}, "", ""}}},
      {"spec.exchange.elastic_beta", {{{"easgd"}, "", ""}}},
      {kAsynchronous, {{{"easgd"}, "", ""}}},
      {"spec.exchange.staleness_bound",
       {{{"gosgd", "ad-psgd"}, "", ""},
        {{"sgp"}, kOverlap, "step"},
        {{"easgd"}, kAsynchronous, "true"}}},
      {"spec.exchange.norm_limit", guarded},
      {"spec.exchange.quarantine_after", guarded},
      {"spec.exchange.proportional_batches", {{{"cocod"}, "", ""}}},
  };
}

const std::vector<Entry>& Table() {
  static const auto& table = *new std::vector<Entry>(MakeTable());
  return table;
}

absl::Span<const Use> UsesOf(absl::string_view path) {
  for (const Entry& entry : Table()) {
    if (entry.path == path) return entry.uses;
  }
  return {};
}

std::string List(const Names& names) {
  if (names.size() == 1) return std::string(names[0]);
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "), " and ", names.back());
}

// Whichever is shorter to read: who reads the field, or who does not.
std::string Readers(const Names& names) {
  const Names others = AllBut(names);
  if (others.empty()) return "";
  return others.size() < names.size() ? absl::StrCat("by all but ", List(others))
                                      : absl::StrCat("by ", List(names));
}

}  // namespace

std::string WhyUnused(const ExchangeSpec& exchange, absl::string_view path) {
  const absl::Span<const Use> uses = UsesOf(path);
  if (uses.empty()) return "";
  JobSpec spec;
  spec.exchange = exchange;
  std::string why = absl::StrCat("with ", exchange.algorithm);
  for (const Use& use : uses) {
    if (std::find(use.algorithms.begin(), use.algorithms.end(), exchange.algorithm) ==
        use.algorithms.end()) {
      continue;
    }
    if (use.field.empty() || ValueToText(GetField(*FindField(use.field), spec)) == use.value)
      return "";
    absl::StrAppend(&why, " unless ", use.field, " is ", use.value);
  }
  return why;
}

std::string UseSentence(absl::string_view path) {
  std::vector<std::string> parts;
  for (const Use& use : UsesOf(path)) {
    std::string part = Readers(use.algorithms);
    if (!use.field.empty()) {
      absl::StrAppend(&part, part.empty() ? "" : " ", "with `", use.field.substr(kSection.size()),
                      "` ", use.value);
    }
    parts.push_back(std::move(part));
  }
  return parts.empty() ? "" : absl::StrCat("Used ", absl::StrJoin(parts, ", "), ".");
}

std::vector<absl::string_view> FieldsOfSomeMethods() {
  std::vector<absl::string_view> paths;
  for (const Entry& entry : Table()) paths.push_back(entry.path);
  return paths;
}

}  // namespace gg
