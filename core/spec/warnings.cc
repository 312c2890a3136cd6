// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/spec/exchange_use.h"
#include "core/spec/optimizer_rules.h"
#include "core/spec/schema.h"
#include "core/spec/validate.h"

namespace gg {
namespace {

// Each step without a message halves the weight of a worker: after so many less than a thousandth is
// left of it.
constexpr int64_t kFarApartSteps = 10;

// The largest number of samples that one worker owns; 0 when only the files can tell.
int64_t MostSamplesOfAWorker(const JobSpec& spec) {
  const DataSpec& data = spec.data;
  int64_t total = data.limit_train;
  if (data.format == "synthetic") {
    total = total > 0 ? std::min(total, data.train_samples) : data.train_samples;
  }
  if (total <= 0 || spec.workers.min <= 0) return 0;
  return total / spec.workers.min + (total % spec.workers.min != 0 ? 1 : 0);
}

// What to do about an average that never comes: methods with a period average by that.
FieldError NoAverage(const ExchangeSpec& exchange, FieldError warning) {
  if (IsUsed(exchange, "spec.exchange.period")) {
    warning.message += ", which has averages of its own";
    warning.suggestion = "set spec.exchange.period in its place";
  } else {
    warning.message += ", whose replicas are the same after every step";
  }
  return warning;
}

// Fields that the chosen method does not read, or reads to its own harm.
void WarnOfExchange(const JobSpec& spec, std::vector<FieldError>& out) {
  const ExchangeSpec& exchange = spec.exchange;
  const auto& known = FindField("spec.exchange.algorithm")->choices;
  if (std::find(known.begin(), known.end(), exchange.algorithm) == known.end()) return;
  for (const absl::string_view path : FieldsOfSomeMethods()) {
    // Refused, which says more (core/spec/validate.cc).
    if (path == "spec.exchange.proportional_batches") continue;
    const Field& field = *FindField(path);
    const std::string why = WhyUnused(exchange, path);
    if (why.empty() || GetField(field, spec) == DefaultValue(field)) continue;
    FieldError warning = {std::string(path), absl::StrCat("has no effect ", why), "remove it"};
    if (path == "spec.exchange.average_every") warning = NoAverage(exchange, std::move(warning));
    out.push_back(std::move(warning));
  }
  if (exchange.algorithm == "sgp" && exchange.staleness_bound > kFarApartSteps &&
      IsUsed(exchange, "spec.exchange.staleness_bound")) {
    out.push_back({"spec.exchange.staleness_bound",
                   absl::StrCat("workers that go on until a message is ", exchange.staleness_bound,
                                " steps late may have replicas that are far apart"),
                   absl::StrCat("use at most ", kFarApartSteps)});
  }
}

}  // namespace

std::vector<FieldError> Warnings(const JobSpec& spec) {
  std::vector<FieldError> out;
  const bool gossips = spec.exchange.algorithm == "gossip-grad" && spec.workers.max > 1;
  if (spec.data.format == "synthetic" && !spec.data.path.empty()) {
    out.push_back({"spec.data.path", "is not used by format synthetic",
                   "remove it, or choose the format of the files"});
  }
  const int64_t most = MostSamplesOfAWorker(spec);
  if (most > 0 && spec.train.batch_size > most) {
    out.push_back({"spec.train.batch_size",
                   absl::StrCat("a batch of ", spec.train.batch_size, " is larger than the ", most,
                                most == 1 ? " sample" : " samples", " that a worker has"),
                   "use smaller batches, fewer workers or more samples"});
  }
  const double epochs = static_cast<double>(spec.train.epochs);
  if (spec.learning_rate.warmup_epochs > 0 && spec.learning_rate.warmup_epochs >= epochs) {
    out.push_back({"spec.learning_rate.warmup_epochs",
                   absl::StrCat("the rate never reaches its full value: warm-up of ",
                                ValueToText(spec.learning_rate.warmup_epochs),
                                " epochs, training of ", spec.train.epochs),
                   ""});
  }
  if (gossips && spec.exchange.payload == "gradients" && spec.exchange.average_every == 0) {
    out.push_back({"spec.exchange.payload",
                   "gradients alone lets the replicas drift apart, which can end in divergence",
                   "use weights, or set spec.exchange.average_every (for example 50)"});
  }
  if (gossips && spec.exchange.payload == "weights-momentum" && spec.optimizer.momentum == 0 &&
      !HasSecondMoment(spec.optimizer)) {
    out.push_back({"spec.exchange.payload", "with momentum 0 there is no momentum to send",
                   "use weights, which says what is sent"});
  }
  WarnOfExchange(spec, out);
  for (FieldError& warning : OptimizerWarnings(spec)) out.push_back(std::move(warning));
  if (spec.workers.max > 1 && !spec.exchange.final_average && spec.exchange.algorithm == "none") {
    out.push_back(
        {"spec.exchange.final_average", "the workers train alone and are never averaged", ""});
  }
  return out;
}

}  // namespace gg
