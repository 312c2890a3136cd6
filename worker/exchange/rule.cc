// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/rule.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"

namespace gg {
namespace {

Flat Weights(ParamArena& arena) {
  return arena.weights();
}
Flat Gradients(ParamArena& arena) {
  return arena.gradients();
}
Flat Momentum(ParamArena& arena) {
  return arena.momentum();
}

const std::vector<Payload>& Payloads() {
  static const auto& payloads = *new std::vector<Payload>{
      {"gradients", true, {Gradients}},
      {"weights", false, {Weights}},
      {"weights-momentum", false, {Weights, Momentum}},
  };
  return payloads;
}

constexpr std::pair<absl::string_view, Overlap> kOverlaps[] = {
    {"none", Overlap::kNone},
    {"layerwise", Overlap::kLayerwise},
    {"step", Overlap::kStep},
};

}  // namespace

std::vector<Flat> Payload::PartsOf(ParamArena& arena) const {
  std::vector<Flat> there;
  for (const auto part : parts) {
    if (const Flat values = part(arena); !values.empty()) there.push_back(values);
  }
  return there;
}

absl::StatusOr<ExchangeRule> ParseRule(const ExchangeSpec& spec) {
  ExchangeRule rule{nullptr, Overlap::kNone};
  for (const Payload& payload : Payloads()) {
    if (payload.name == spec.payload) rule.payload = &payload;
  }
  if (rule.payload == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown exchange payload '", spec.payload, "': use one of ",
        absl::StrJoin(Payloads(), ", ",
                      [](std::string* out, const Payload& p) { absl::StrAppend(out, p.name); })));
  }
  for (const auto& [name, overlap] : kOverlaps) {
    if (name != spec.overlap) continue;
    rule.overlap = overlap;
    return rule;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown exchange overlap '", spec.overlap, "': use one of ",
      absl::StrJoin(kOverlaps, ", ",
                    [](std::string* out, const auto& o) { absl::StrAppend(out, o.first); })));
}

absl::StatusOr<WireFormat> ParseEncoding(const ExchangeSpec& spec, uint64_t seed) {
  GG_ASSIGN_OR_RETURN(const WireFormat format,
                      ParseWireFormat(spec.encoding, spec.topk_share, seed));
  const bool gradients_to_a_partner =
      spec.algorithm == "gossip-grad" && spec.payload == "gradients";
  if (format.encoding == Encoding::kTopk && !gradients_to_a_partner) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange encoding topk is for gradients that go to a partner, not for ",
                     spec.algorithm, " with payload ", spec.payload,
                     ": use algorithm gossip-grad with payload gradients, or encoding int8"));
  }
  return format;
}

}  // namespace gg
