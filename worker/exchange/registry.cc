// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/schedule.h"
#include "core/spec/exchange_use.h"
#include "core/status.h"
#include "worker/exchange/ad_psgd.h"
#include "worker/exchange/allreduce.h"
#include "worker/exchange/d_psgd.h"
#include "worker/exchange/easgd.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/gosgd.h"
#include "worker/exchange/gossip_grad.h"
#include "worker/exchange/grouped.h"
#include "worker/exchange/none.h"
#include "worker/exchange/periodic.h"
#include "worker/exchange/reduce_scatter.h"
#include "worker/exchange/rule.h"
#include "worker/exchange/schedule_of.h"
#include "worker/exchange/sgp.h"

namespace gg {
namespace {

// What the user chose, checked whatever the number of workers: a job file that is wrong must not become
// right by running it alone.
struct Choice {
  ExchangeRule rule;
  std::unique_ptr<PartnerSchedule> schedule;  // of the algorithms that go by one
};

using Factory = absl::StatusOr<std::unique_ptr<ExchangeStrategy>> (*)(ExchangeContext, Choice);

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeGossipGrad(ExchangeContext context,
                                                                 Choice choice) {
  if (context.size == 1) return MakeNoExchange(std::move(context), "gossip-grad");
  return GossipGrad::Create(std::move(context), choice.rule, std::move(choice.schedule));
}

// Alone, a worker is its own mean.
template <absl::StatusOr<std::unique_ptr<ExchangeStrategy>> (*make)(ExchangeContext)>
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeUnlessAlone(ExchangeContext context,
                                                                  Choice /*choice*/) {
  const std::string name = context.spec.algorithm;
  if (context.size == 1) return MakeNoExchange(std::move(context), name);
  return make(std::move(context));
}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeFlatAllReduce(ExchangeContext context) {
  return MakeAllReduce(std::move(context), /*layerwise=*/false);
}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeLayerwiseAllReduce(ExchangeContext context) {
  return MakeAllReduce(std::move(context), /*layerwise=*/true);
}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeLocal(ExchangeContext context,
                                                            Choice choice) {
  if (context.size == 1) return MakeNoExchange(std::move(context), "local-sgd");
  return MakeLocalSgd(std::move(context), *choice.rule.payload);
}

// Methods that exchange models, and nothing else of a replica.
absl::Status CheckOfWeights(const ExchangeSpec& spec) {
  if (spec.payload == "weights") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("exchange.algorithm ", spec.algorithm,
                                                 " exchanges models and keeps momentum local: use ",
                                                 "exchange.payload weights, not ", spec.payload));
}

template <absl::StatusOr<std::unique_ptr<ExchangeStrategy>> (*make)(ExchangeContext)>
absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeOfWeights(ExchangeContext context,
                                                                Choice choice) {
  GG_RETURN_IF_ERROR(CheckOfWeights(context.spec));
  return MakeUnlessAlone<make>(std::move(context), std::move(choice));
}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeGradientPush(ExchangeContext context,
                                                                   Choice choice) {
  GG_RETURN_IF_ERROR(CheckOfWeights(context.spec));
  if (context.size == 1) return MakeNoExchange(std::move(context), "sgp");
  return MakeSgp(std::move(context), choice.rule.overlap, std::move(choice.schedule));
}

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeNone(ExchangeContext context,
                                                           Choice /*choice*/) {
  return MakeNoExchange(std::move(context), "none");
}

struct Algorithm {
  absl::string_view name;
  Factory make;
};
constexpr Algorithm kAlgorithms[] = {
    {"gossip-grad", MakeGossipGrad},
    {"allreduce", MakeUnlessAlone<MakeFlatAllReduce>},
    {"allreduce-layerwise", MakeUnlessAlone<MakeLayerwiseAllReduce>},
    {"reduce-scatter", MakeUnlessAlone<MakeReduceScatter>},
    {"periodic-average", MakeUnlessAlone<MakePeriodicAverage>},
    {"local-sgd", MakeLocal},
    {"cocod", MakeUnlessAlone<MakeCocod>},
    {"d-psgd", MakeOfWeights<MakeDPsgd>},
    {"sgp", MakeGradientPush},
    {"gosgd", MakeOfWeights<GoSgd::Create>},
    {"ad-psgd", MakeOfWeights<AdPsgd::Create>},
    {"easgd", MakeOfWeights<MakeEasgd>},
    {"none", MakeNone},
};

absl::Status CheckView(const ExchangeContext& context) {
  if (context.size < 1 || context.rank < 0 || context.rank >= context.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange: rank ", context.rank, " is not in 0 .. ", context.size - 1));
  }
  if (context.size == 1) return absl::OkStatus();
  if (context.group == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange: ", context.size, " workers, but no group to reach them through"));
  }
  if (context.group->view().size() != context.size || context.group->self() != context.rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "exchange: rank ", context.rank, " of ", context.size, ", but the group is rank ",
        context.group->self(), " of ", context.group->view().size()));
  }
  return absl::OkStatus();
}

absl::Status CheckCollective(const ExchangeSpec& spec) {
  static constexpr absl::string_view kNames[] = {"auto", "ring", "halving-doubling",
                                                 "recursive-doubling"};
  if (std::find(std::begin(kNames), std::end(kNames), spec.collective) == std::end(kNames)) {
    return absl::InvalidArgumentError(absl::StrCat("unknown exchange collective '", spec.collective,
                                                   "': use one of ", absl::StrJoin(kNames, ", ")));
  }
  if (!(spec.collective_seconds > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange collective_seconds must be above 0, not ", spec.collective_seconds));
  }
  if (spec.period < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange period must not be negative, but is ", spec.period));
  }
  if (spec.staleness_bound < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "exchange staleness_bound must not be negative, but is ", spec.staleness_bound));
  }
  return absl::OkStatus();
}

absl::Status CheckGuard(const ExchangeSpec& spec) {
  if (spec.norm_limit >= 0 && spec.staleness_bound >= 0 && spec.quarantine_after >= 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "exchange norm_limit, staleness_bound and quarantine_after must not be negative, but are ",
      spec.norm_limit, ", ", spec.staleness_bound, " and ", spec.quarantine_after));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeExchange(ExchangeContext context) {
  const Algorithm* algorithm = nullptr;
  for (const Algorithm& known : kAlgorithms) {
    if (known.name == context.spec.algorithm) algorithm = &known;
  }
  if (algorithm == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("unknown exchange algorithm '",
                                                   context.spec.algorithm, "': use one of ",
                                                   absl::StrJoin(ExchangeNames(), ", ")));
  }
  GG_RETURN_IF_ERROR(CheckView(context));
  Choice choice;
  GG_ASSIGN_OR_RETURN(choice.rule, ParseRule(context.spec));
  GG_RETURN_IF_ERROR(ParseEncoding(context.spec, context.seed).status());
  const bool has_partners = IsUsed(context.spec, "spec.exchange.schedule");
  if (has_partners) {
    GG_ASSIGN_OR_RETURN(choice.schedule,
                        ScheduleOf(context.spec, context.seed, context.size,
                                   context.group == nullptr ? nullptr : &context.group->view()));
  }
  if (!(context.spec.deadline_seconds > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "exchange deadline_seconds must be above 0, not ", context.spec.deadline_seconds));
  }
  GG_RETURN_IF_ERROR(CheckCollective(context.spec));
  GG_RETURN_IF_ERROR(CheckGuard(context.spec));
  if (context.metrics == nullptr) context.metrics = &NullMetricSink();
  if (!has_partners || context.spec.schedule != "hierarchical" || context.size == 1) {
    return algorithm->make(std::move(context), std::move(choice));
  }
  const ExchangeRule rule = choice.rule;
  return MakeGrouped(
      std::move(context),
      [algorithm, rule](ExchangeContext inner, std::unique_ptr<PartnerSchedule> between_groups) {
        return algorithm->make(std::move(inner), {rule, std::move(between_groups)});
      });
}

std::vector<absl::string_view> ExchangeNames() {
  std::vector<absl::string_view> names;
  for (const Algorithm& algorithm : kAlgorithms) names.push_back(algorithm.name);
  return names;
}

std::vector<std::string> ExchangeWarnings(const ExchangeSpec& spec, int size) {
  std::vector<std::string> warnings;
  if (size < 2 || spec.average_every > 0) return warnings;
  if (spec.algorithm == "gossip-grad" && spec.payload == "gradients") {
    warnings.push_back(
        "exchange.payload gradients alone lets the replicas drift apart, and with many workers the "
        "training diverges: set exchange.average_every (for example 100), or use "
        "exchange.payload weights");
  }
  if (spec.algorithm == "none") {
    warnings.push_back(absl::StrCat(
        "exchange.algorithm none trains ", size,
        " replicas that never meet, and their average at the end is of little use: set "
        "exchange.average_every, or use exchange.algorithm gossip-grad"));
  }
  return warnings;
}

}  // namespace gg
