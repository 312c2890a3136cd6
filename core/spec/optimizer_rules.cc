// SPDX-License-Identifier: Apache-2.0
#include "core/spec/optimizer_rules.h"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

bool IsPlainSgd(const OptimizerSpec& optimizer) {
  return optimizer.name == "sgd" || optimizer.name == "sgd-pytorch";
}

void CheckMilestones(const LearningRateSpec& rate, std::vector<FieldError>& out) {
  if (rate.policy != "multi-step") return;
  constexpr const char* kPath = "spec.learning_rate.milestones";
  const std::vector<int64_t>& epochs = rate.milestones;
  if (epochs.empty()) {
    out.push_back({kPath, "is required for policy multi-step", "for example [10, 15]"});
  } else if (std::adjacent_find(epochs.begin(), epochs.end(), std::greater_equal<>()) !=
             epochs.end()) {
    out.push_back({kPath, "must rise from one epoch to the next", "for example [10, 15]"});
  }
}

}  // namespace

bool HasSecondMoment(const OptimizerSpec& optimizer) {
  return optimizer.name == "adam" || optimizer.name == "adamw" || optimizer.name == "lamb";
}

bool NeedsWholeLayers(const OptimizerSpec& optimizer) {
  return optimizer.name == "lars" || optimizer.name == "lamb";
}

std::vector<FieldError> OptimizerErrors(const JobSpec& spec) {
  std::vector<FieldError> out;
  const ExchangeSpec& exchange = spec.exchange;
  if (NeedsWholeLayers(spec.optimizer) && exchange.algorithm == "reduce-scatter") {
    out.push_back(
        {"spec.optimizer.name",
         absl::StrCat(spec.optimizer.name,
                      " needs the norms of whole layers, and with reduce-scatter a worker "
                      "has the gradient of a strip alone"),
         "use exchange algorithm allreduce-layerwise, or another optimizer"});
  }
  if (HasSecondMoment(spec.optimizer) && exchange.algorithm == "periodic-average" &&
      exchange.encoding != "fp32") {
    out.push_back(
        {"spec.exchange.encoding",
         absl::StrCat("periodic-average also averages the second moments of ", spec.optimizer.name,
                      ", which do not bear being rounded to ", exchange.encoding),
         "use encoding fp32, or algorithm local-sgd, which leaves them local"});
  }
  CheckMilestones(spec.learning_rate, out);
  return out;
}

std::vector<FieldError> OptimizerWarnings(const JobSpec& spec) {
  std::vector<FieldError> out;
  const OptimizerSpec& optimizer = spec.optimizer;
  if (optimizer.nesterov && !IsPlainSgd(optimizer)) {
    out.push_back({"spec.optimizer.nesterov", absl::StrCat("is not used by ", optimizer.name),
                   "use optimizer sgd or sgd-pytorch, or leave nesterov out"});
  } else if (optimizer.nesterov && optimizer.momentum == 0) {
    out.push_back({"spec.optimizer.nesterov",
                   "with momentum 0 there is nothing to look ahead along",
                   "set spec.optimizer.momentum (for example 0.9), or leave nesterov out"});
  }
  if (optimizer.clip_norm > 0 && spec.workers.max > 1 &&
      (spec.exchange.algorithm == "allreduce-layerwise" ||
       spec.exchange.algorithm == "reduce-scatter" ||
       (spec.exchange.algorithm == "gossip-grad" && spec.exchange.overlap == "layerwise"))) {
    out.push_back({"spec.optimizer.clip_norm",
                   "no layer is sent before the norm of the whole gradient is known, so that "
                   "nothing of the exchange hides behind back-propagation",
                   "use clip_value, or accept longer steps"});
  }
  return out;
}

}  // namespace gg
