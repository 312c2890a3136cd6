// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

// Fields that the chosen method does not read, or reads to its own harm.
void WarnOfExchange(const ExchangeSpec& exchange, std::vector<FieldError>& out) {
  const auto is_one_of = [&](std::initializer_list<absl::string_view> names) {
    return std::find(names.begin(), names.end(), exchange.algorithm) != names.end();
  };
  const auto no_average = [&](absl::string_view because, std::string remedy) {
    out.push_back({"spec.exchange.average_every",
                   absl::StrCat("has no effect with ", exchange.algorithm, ", ", because),
                   std::move(remedy)});
  };
  if (exchange.average_every > 0) {
    if (is_one_of({"allreduce", "allreduce-layerwise", "reduce-scatter"})) {
      no_average("whose replicas are the same after every step", "remove it");
    } else if (is_one_of({"periodic-average", "local-sgd", "cocod"})) {
      no_average("which has averages of its own", "set spec.exchange.period in its place");
    }
  }
  if (exchange.algorithm == "sgp" && exchange.staleness_bound > kFarApartSteps) {
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
  WarnOfExchange(spec.exchange, out);
  for (FieldError& warning : OptimizerWarnings(spec)) out.push_back(std::move(warning));
  if (spec.workers.max > 1 && !spec.exchange.final_average && spec.exchange.algorithm == "none") {
    out.push_back(
        {"spec.exchange.final_average", "the workers train alone and are never averaged", ""});
  }
  return out;
}

}  // namespace gg
