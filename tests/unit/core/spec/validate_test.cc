// SPDX-License-Identifier: Apache-2.0
#include "core/spec/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "core/spec/schema.h"

namespace gg {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobSpec GoodSpec() {
  JobSpec spec;
  spec.name = "job";
  spec.data.format = "synthetic";
  return spec;
}

TEST(Validate, TakesTheDefaultsWithANameAndAFolder) {
  JobSpec spec;
  spec.name = "job";
  spec.data.path = "/data";
  EXPECT_THAT(Validate(spec), IsEmpty());
  EXPECT_THAT(Warnings(spec), IsEmpty());
}

struct Mistake {
  std::string path;
  std::string message;
  std::function<void(JobSpec&)> make;
  friend void PrintTo(const Mistake& m, std::ostream* os) { *os << m.path << " " << m.message; }
};

class ValidateFinds : public ::testing::TestWithParam<Mistake> {};

TEST_P(ValidateFinds, ExactlyThatMistake) {
  JobSpec spec = GoodSpec();
  GetParam().make(spec);
  const auto errors = Validate(spec);
  ASSERT_THAT(errors, SizeIs(1)) << ToStatus(errors);
  EXPECT_EQ(errors[0].path, GetParam().path);
  EXPECT_THAT(ToString(errors[0]), HasSubstr(GetParam().message));
}

const double kNan = std::numeric_limits<double>::quiet_NaN();

INSTANTIATE_TEST_SUITE_P(
    , ValidateFinds,
    ::testing::Values(
        Mistake{"metadata.name", "is required", [](JobSpec& s) { s.name = ""; }},
        Mistake{"metadata.name", "for example \"my-job\"", [](JobSpec& s) { s.name = "My_Job"; }},
        Mistake{"metadata.name", "not begin or end", [](JobSpec& s) { s.name = "-a"; }},
        Mistake{"metadata.name", "1 to 63", [](JobSpec& s) { s.name = std::string(64, 'a'); }},
        Mistake{"metadata.labels", "key \"a b\"", [](JobSpec& s) { s.labels["a b"] = "x"; }},
        Mistake{"metadata.labels", "value of \"k\"",
                [](JobSpec& s) { s.labels["k"] = "\x1b[31m"; }},
        Mistake{"spec.model.name", "did you mean \"lenet\"?",
                [](JobSpec& s) { s.model.name = "lenett"; }},
        Mistake{"spec.model.hidden", "value 2: 0",
                [](JobSpec& s) {
                  s.model.hidden = {4, 0};
                }},
        Mistake{"spec.model.hidden", "at least one",
                [](JobSpec& s) {
                  s.model.name = "mlp";
                  s.model.hidden.clear();
                }},
        Mistake{"spec.model.dropout", "0 <= value < 1, got 1",
                [](JobSpec& s) { s.model.dropout = 1; }},
        Mistake{"spec.data.path", "is required for format idx",
                [](JobSpec& s) { s.data.format = "idx"; }},
        Mistake{"spec.data.format", "must be one of", [](JobSpec& s) { s.data.format = "png"; }},
        Mistake{"spec.data.stddev", "0 < value", [](JobSpec& s) { s.data.stddev = 0; }},
        Mistake{"spec.data.mean", "got nan", [](JobSpec& s) { s.data.mean = kNan; }},
        Mistake{"spec.data.shape", "three values",
                [](JobSpec& s) {
                  s.data.shape = {28, 28};
                }},
        Mistake{"spec.data.shape", "value 3: -1",
                [](JobSpec& s) {
                  s.data.shape = {1, 28, -1};
                }},
        Mistake{"spec.data.shape", "at most",
                [](JobSpec& s) {
                  s.data.shape = {16384, 16384, 16384};
                }},
        Mistake{"spec.data.classes", "2 <= value", [](JobSpec& s) { s.data.classes = 1; }},
        Mistake{"spec.data.train_samples", "at least one sample",
                [](JobSpec& s) {
                  s.data.train_samples = 3;
                  s.workers.max = 4;
                }},
        Mistake{"spec.data.limit_train", "at least one sample",
                [](JobSpec& s) {
                  s.data.limit_train = 3;
                  s.workers.max = 4;
                }},
        Mistake{"spec.optimizer.momentum", "0 <= value < 1, got 1",
                [](JobSpec& s) { s.optimizer.momentum = 1; }},
        Mistake{"spec.optimizer.momentum", "got -0.1",
                [](JobSpec& s) { s.optimizer.momentum = -0.1; }},
        Mistake{"spec.optimizer.name", "did you mean \"adamw\"?",
                [](JobSpec& s) { s.optimizer.name = "adam-w"; }},
        Mistake{"spec.optimizer.name", "lars needs the norms of whole layers",
                [](JobSpec& s) {
                  s.optimizer.name = "lars";
                  s.exchange.algorithm = "reduce-scatter";
                }},
        Mistake{"spec.optimizer.name", "lamb needs the norms of whole layers",
                [](JobSpec& s) {
                  s.optimizer.name = "lamb";
                  s.exchange.algorithm = "reduce-scatter";
                }},
        Mistake{"spec.exchange.encoding", "do not bear being rounded to bf16",
                [](JobSpec& s) {
                  s.optimizer.name = "adamw";
                  s.exchange.algorithm = "periodic-average";
                  s.exchange.encoding = "bf16";
                }},
        Mistake{"spec.optimizer.weight_decay", "0 <= value <= 10, got nan",
                [](JobSpec& s) { s.optimizer.weight_decay = kNan; }},
        Mistake{"spec.optimizer.beta1", "0 <= value < 1, got 1",
                [](JobSpec& s) { s.optimizer.beta1 = 1; }},
        Mistake{"spec.optimizer.beta2", "got nan", [](JobSpec& s) { s.optimizer.beta2 = kNan; }},
        Mistake{"spec.optimizer.epsilon", "got 0", [](JobSpec& s) { s.optimizer.epsilon = 0; }},
        Mistake{"spec.optimizer.trust_coefficient", "got -1",
                [](JobSpec& s) { s.optimizer.trust_coefficient = -1; }},
        Mistake{"spec.optimizer.clip_norm", "got -1",
                [](JobSpec& s) { s.optimizer.clip_norm = -1; }},
        Mistake{"spec.optimizer.clip_value", "got nan",
                [](JobSpec& s) { s.optimizer.clip_value = kNan; }},
        Mistake{"spec.optimizer.weight_decays", "\"*.bias\": -1",
                [](JobSpec& s) { s.optimizer.weight_decays["*.bias"] = -1; }},
        Mistake{"spec.optimizer.weight_decays", "got \"x\": nan",
                [](JobSpec& s) { s.optimizer.weight_decays["x"] = kNan; }},
        Mistake{"spec.optimizer.rate_factors", "pattern \"a b\" must be 1 to 63",
                [](JobSpec& s) { s.optimizer.rate_factors["a b"] = 1; }},
        Mistake{"spec.optimizer.rate_factors", "pattern \"\" must be",
                [](JobSpec& s) { s.optimizer.rate_factors[""] = 1; }},
        Mistake{"spec.learning_rate.milestones", "is required for policy multi-step",
                [](JobSpec& s) { s.learning_rate.policy = "multi-step"; }},
        Mistake{"spec.learning_rate.milestones", "must rise",
                [](JobSpec& s) {
                  s.learning_rate.policy = "multi-step";
                  s.learning_rate.milestones = {5, 5};
                }},
        Mistake{"spec.learning_rate.milestones", "value 1: 0",
                [](JobSpec& s) { s.learning_rate.milestones = {0}; }},
        Mistake{"spec.learning_rate.floor", "got 1.5",
                [](JobSpec& s) { s.learning_rate.floor = 1.5; }},
        Mistake{"spec.learning_rate.gamma", "got nan",
                [](JobSpec& s) { s.learning_rate.gamma = kNan; }},
        Mistake{"spec.learning_rate.base", "0 < value",
                [](JobSpec& s) { s.learning_rate.base = 0; }},
        Mistake{"spec.exchange.graph_file", "is required for schedule graph",
                [](JobSpec& s) { s.exchange.schedule = "graph"; }},
        Mistake{"spec.exchange.graph_file", "at most 4096 bytes",
                [](JobSpec& s) { s.exchange.graph_file = std::string(5000, 'x'); }},
        Mistake{"spec.exchange.topology", "use letters, digits",
                [](JobSpec& s) { s.exchange.topology = "a rack"; }},
        Mistake{"spec.exchange.schedule", "did you mean \"hypercube\"?",
                [](JobSpec& s) { s.exchange.schedule = "hypercub"; }},
        Mistake{"spec.exchange.schedule", "may start with 3 (min 2, max 4)",
                [](JobSpec& s) {
                  s.exchange.schedule = "hypercube";
                  s.workers.min = 2;
                  s.workers.max = 4;
                }},
        Mistake{"spec.exchange.encoding", "use algorithm gossip-grad with payload gradients",
                [](JobSpec& s) { s.exchange.encoding = "topk"; }},
        Mistake{"spec.exchange.encoding", "not for allreduce with payload gradients",
                [](JobSpec& s) {
                  s.exchange.encoding = "topk";
                  s.exchange.algorithm = "allreduce";
                  s.exchange.payload = "gradients";
                }},
        Mistake{"spec.exchange.encoding", "did you mean \"fp16\"?",
                [](JobSpec& s) { s.exchange.encoding = "fp6"; }},
        Mistake{"spec.exchange.topk_share", "got 0",
                [](JobSpec& s) { s.exchange.topk_share = 0; }},
        Mistake{"spec.exchange.deadline_seconds", "0.001 <= value",
                [](JobSpec& s) { s.exchange.deadline_seconds = 0; }},
        Mistake{"spec.workers.start_timeout_seconds", "0.1 <= value",
                [](JobSpec& s) { s.workers.start_timeout_seconds = 0.01; }},
        Mistake{"spec.train.max_steps", "got 9007199254740993",
                [](JobSpec& s) { s.train.max_steps = 9007199254740993; }},
        Mistake{"spec.train.batch_size", "one sample has no variance",
                [](JobSpec& s) {
                  s.model.name = "lenet-bn";
                  s.train.batch_size = 1;
                }},
        Mistake{"spec.exchange.proportional_batches", "only cocod weighs workers",
                [](JobSpec& s) {
                  s.exchange.proportional_batches = true;
                  s.data.exchange = "none";
                }},
        Mistake{"spec.exchange.proportional_batches", "cannot pass their samples on",
                [](JobSpec& s) {
                  s.exchange.proportional_batches = true;
                  s.exchange.algorithm = "cocod";
                  s.data.exchange = "ring";
                }},
        Mistake{"spec.data.shape", "lenet needs images of at least 16x16, got 28x15",
                [](JobSpec& s) {
                  s.data.shape = {1, 28, 15};
                }},
        Mistake{"spec.data.shape", "cifarnet needs images of at least 12x12",
                [](JobSpec& s) {
                  s.model.name = "cifarnet";
                  s.data.shape = {3, 11, 32};
                }},
        Mistake{"spec.data.train_samples", "take 730 GiB of memory",
                [](JobSpec& s) { s.data.train_samples = 1000000000; }},
        Mistake{"spec.model.hidden", "weights of",
                [](JobSpec& s) {
                  s.model.name = "mlp";
                  s.model.hidden = {65536, 65536, 65536};
                }},
        Mistake{"spec.train.epochs", "1 <= value <= 1000000, got 0",
                [](JobSpec& s) { s.train.epochs = 0; }},
        Mistake{"spec.train.batch_size", "got -64", [](JobSpec& s) { s.train.batch_size = -64; }},
        Mistake{"spec.workers.min", "got 0", [](JobSpec& s) { s.workers.min = 0; }},
        Mistake{"spec.workers.max", "set max to 3 or more", [](JobSpec& s) {
                  s.workers.min = 3;
                  s.workers.max = 2;
                }}));

TEST(Validate, FindsAllMistakesAtOnceInTheOrderOfTheTable) {
  JobSpec spec;  // no name, no path
  spec.workers.min = 0;
  spec.train.epochs = 0;
  spec.model.name = "x";
  std::vector<std::string> paths;
  for (const FieldError& error : Validate(spec)) paths.push_back(error.path);
  EXPECT_THAT(paths, ::testing::ElementsAre("metadata.name", "spec.model.name", "spec.data.path",
                                            "spec.train.epochs", "spec.workers.min"));
}

FieldValue NumberFor(const Field& field, double number) {
  if (field.type == FieldType::kFloat) return number;
  const int64_t whole = static_cast<int64_t>(number);
  if (field.type == FieldType::kIntList) return std::vector<int64_t>{whole};
  if (field.type == FieldType::kFloatMap) return std::map<std::string, double>{{"x", number}};
  return whole;
}

TEST(Validate, EveryBoundOfTheTableIsEnforced) {
  for (const Field& field : Fields()) {
    for (const bool low : {true, false}) {
      const double bound = low ? field.range.min : field.range.max;
      if (!std::isfinite(bound)) continue;
      JobSpec spec = GoodSpec();
      const double outside = low ? bound - 1 : bound + 1;
      // 2^53 + 1 is not a double; the bound is there to keep readers of JSON out of that region.
      if (std::fabs(bound) >= 9007199254740992.0) continue;
      ASSERT_TRUE(SetField(field, NumberFor(field, outside), &spec).ok()) << field.path;
      const auto errors = Validate(spec);
      EXPECT_TRUE(std::any_of(errors.begin(), errors.end(),
                              [&](const FieldError& e) { return e.path == field.path; }))
          << field.path << " = " << outside;
    }
  }
}

TEST(Validate, TakesAHypercubeOfPowersOfTwo) {
  JobSpec spec = GoodSpec();
  spec.exchange.schedule = "hypercube";
  spec.workers.min = spec.workers.max = 8;
  EXPECT_THAT(Validate(spec), IsEmpty());
  spec.workers.min = 1;
  spec.workers.max = 2;
  EXPECT_THAT(Validate(spec), IsEmpty());
}

TEST(Validate, LooksAtAScheduleOnlyWhereAMethodGoesByIt) {
  JobSpec spec = GoodSpec();
  spec.workers.min = spec.workers.max = 3;
  for (const absl::string_view algorithm : FindField("spec.exchange.algorithm")->choices) {
    spec.exchange.algorithm = std::string(algorithm);
    const bool goes_by_it = algorithm == "gossip-grad" || algorithm == "sgp";
    for (const char* schedule : {"hypercube", "graph"}) {  // of three; without a graph file
      spec.exchange.schedule = schedule;
      EXPECT_EQ(Validate(spec).empty(), !goes_by_it) << algorithm << " " << schedule;
    }
    spec.exchange.schedule = "hierarchical";
    EXPECT_THAT(Validate(spec), IsEmpty()) << algorithm;
    EXPECT_EQ(Warnings(spec).empty(), goes_by_it) << algorithm;
  }
}

TEST(LeastBatch, IsWhatValidationAsksFor) {
  for (const absl::string_view model : FindField("spec.model.name")->choices) {
    JobSpec spec = GoodSpec();
    spec.model.name = std::string(model);
    spec.train.batch_size = LeastBatch(spec.model);
    EXPECT_THAT(Validate(spec), IsEmpty()) << model;
    spec.exchange.algorithm = "cocod";
    spec.exchange.proportional_batches = true;
    spec.data.exchange = "none";
    EXPECT_THAT(Validate(spec), IsEmpty()) << model;
    --spec.train.batch_size;
    EXPECT_THAT(Validate(spec), SizeIs(1)) << model;
  }
}

TEST(Validate, RefusesAPayloadThatNoWorkerTakes) {
  const auto refused = [](absl::string_view algorithm, absl::string_view payload) {
    JobSpec spec = GoodSpec();
    spec.exchange.algorithm = std::string(algorithm);
    spec.exchange.payload = std::string(payload);
    const auto errors = Validate(spec);
    if (errors.empty()) return false;
    EXPECT_THAT(errors, SizeIs(1)) << ToStatus(errors);
    EXPECT_EQ(errors[0].path, "spec.exchange.payload");
    EXPECT_THAT(errors[0].message, HasSubstr(std::string(algorithm)));
    EXPECT_THAT(errors[0].message, HasSubstr(std::string(payload)));
    EXPECT_THAT(errors[0].suggestion, HasSubstr("use payload weights"));
    return true;
  };
  for (const absl::string_view algorithm : FindField("spec.exchange.algorithm")->choices) {
    SCOPED_TRACE(std::string(algorithm));
    const bool of_weights = algorithm == "d-psgd" || algorithm == "sgp" || algorithm == "gosgd" ||
                            algorithm == "ad-psgd" || algorithm == "easgd";
    EXPECT_FALSE(refused(algorithm, "weights"));
    EXPECT_EQ(refused(algorithm, "weights-momentum"), of_weights);
    EXPECT_EQ(refused(algorithm, "gradients"), of_weights || algorithm == "local-sgd");
  }
}

TEST(Validate, ReduceScatterNeedsACollectiveThatHasOne) {
  JobSpec spec = GoodSpec();
  spec.exchange.algorithm = "reduce-scatter";
  spec.workers.min = 2;
  spec.workers.max = 3;
  for (const char* collective : {"auto", "ring"}) {
    spec.exchange.collective = collective;
    EXPECT_THAT(Validate(spec), IsEmpty()) << collective;
  }
  for (const char* collective : {"halving-doubling", "recursive-doubling"}) {
    spec.exchange.collective = collective;
    ASSERT_THAT(Validate(spec), SizeIs(1)) << collective;
    EXPECT_EQ(Validate(spec)[0].path, "spec.exchange.collective");
  }
  spec.workers.max = 2;
  EXPECT_THAT(Validate(spec), SizeIs(1));
  spec.exchange.collective = "halving-doubling";
  EXPECT_THAT(Validate(spec), IsEmpty());
}

TEST(ToStatus, HoldsEveryProblem) {
  EXPECT_TRUE(ToStatus({}).ok());
  const absl::Status status = ToStatus({{"a", "b", "c"}, {"d", "e", ""}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "a: b; c\nd: e");
}

}  // namespace
}  // namespace gg
