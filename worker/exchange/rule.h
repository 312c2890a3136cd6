// SPDX-License-Identifier: Apache-2.0
//
// What is exchanged (payload), when (overlap) and in which bits (encoding), as small independent values. Their product is
// never a class: gossip_grad.cc asks the questions below at each hook. To add a payload: a line
// in Payloads() in rule.cc.
//
// Thread-safety: values.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_RULE_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_RULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/job_spec.h"
#include "worker/nn/param_arena.h"
#include "worker/wire/encoding.h"

namespace gg {

struct Payload {
  absl::string_view name;
  // True: mixed before the optimizer uses it (gradients). False: mixed after the update (weights).
  bool before_update;
  // The arenas that travel, in their order inside a message. Momentum is the first vector of the
  // optimizer's state, and left out where it has none.
  std::vector<Flat> PartsOf(ParamArena& arena) const;
  std::vector<Flat (*)(ParamArena&)> parts;
};

enum class Overlap {
  kNone,       // exchanged at the end of the step, which waits for it
  kLayerwise,  // sent as soon as a unit is ready, waited for where the unit is next needed
  kStep,       // sent in one step, mixed in the next as a difference of snapshots
};

struct ExchangeRule {
  const Payload* payload;
  Overlap overlap;
};

// kInvalidArgument lists what is possible.
absl::StatusOr<ExchangeRule> ParseRule(const ExchangeSpec& spec);

// What spec.encoding says; `seed` is the job's. kInvalidArgument also where the encoding does not fit
// the algorithm and the payload.
absl::StatusOr<WireFormat> ParseEncoding(const ExchangeSpec& spec, uint64_t seed);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_RULE_H_
