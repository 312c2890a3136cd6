// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/spec/validate.h"

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

TEST(Warnings, TellOfGradientsWithoutAnAverage) {
  JobSpec spec = GoodSpec();
  spec.workers.max = 4;
  spec.exchange.payload = "gradients";
  ASSERT_THAT(Warnings(spec), SizeIs(1));
  EXPECT_EQ(Warnings(spec)[0].path, "spec.exchange.payload");
  EXPECT_THAT(Validate(spec), IsEmpty());
  spec.exchange.average_every = 50;
  EXPECT_THAT(Warnings(spec), IsEmpty());
}

TEST(Warnings, TellOfAnAverageThatNeverComes) {
  JobSpec spec = GoodSpec();
  spec.exchange.average_every = 50;
  for (const char* algorithm : {"allreduce", "allreduce-layerwise", "reduce-scatter",
                                "periodic-average", "local-sgd", "cocod"}) {
    spec.exchange.algorithm = algorithm;
    ASSERT_THAT(Warnings(spec), SizeIs(1)) << algorithm;
    EXPECT_EQ(Warnings(spec)[0].path, "spec.exchange.average_every");
    EXPECT_THAT(Warnings(spec)[0].message, HasSubstr(algorithm));
    EXPECT_THAT(Validate(spec), IsEmpty());
  }
  for (const char* algorithm :
       {"gossip-grad", "d-psgd", "sgp", "gosgd", "ad-psgd", "easgd", "none"}) {
    spec.exchange.algorithm = algorithm;
    EXPECT_THAT(Warnings(spec), IsEmpty()) << algorithm;
  }
}

TEST(Warnings, TellOfPushesThatMayBeVeryLate) {
  JobSpec spec = GoodSpec();
  spec.exchange.staleness_bound = 11;
  spec.exchange.algorithm = "gosgd";
  EXPECT_THAT(Warnings(spec), IsEmpty());
  spec.exchange.algorithm = "sgp";
  spec.exchange.overlap = "step";
  ASSERT_THAT(Warnings(spec), SizeIs(1));
  EXPECT_EQ(Warnings(spec)[0].path, "spec.exchange.staleness_bound");
  EXPECT_THAT(Warnings(spec)[0].message, HasSubstr("far apart"));
  EXPECT_THAT(Validate(spec), IsEmpty());
  spec.exchange.staleness_bound = 10;
  EXPECT_THAT(Warnings(spec), IsEmpty());
}

TEST(Warnings, TellOfABatchLargerThanAShare) {
  JobSpec spec = GoodSpec();
  spec.data.train_samples = 100;
  spec.workers.min = spec.workers.max = 2;
  spec.train.batch_size = 50;
  EXPECT_THAT(Warnings(spec), IsEmpty());
  spec.train.batch_size = 51;
  ASSERT_THAT(Warnings(spec), SizeIs(1));
  EXPECT_EQ(Warnings(spec)[0].path, "spec.train.batch_size");
  EXPECT_THAT(Validate(spec), IsEmpty());
}

TEST(Warnings, TellOfNesterovWithoutMomentum) {
  JobSpec spec = GoodSpec();
  spec.optimizer.nesterov = true;
  EXPECT_THAT(Warnings(spec), IsEmpty());
  spec.optimizer.momentum = 0;
  ASSERT_THAT(Warnings(spec), SizeIs(1));
  EXPECT_EQ(Warnings(spec)[0].path, "spec.optimizer.nesterov");
  EXPECT_THAT(Validate(spec), IsEmpty());
}

TEST(Warnings, TellOfWhatAnOptimizerDoesNotUse) {
  JobSpec spec = GoodSpec();
  spec.optimizer.name = "adam";
  EXPECT_THAT(Warnings(spec), IsEmpty());
  spec.optimizer.nesterov = true;
  ASSERT_THAT(Warnings(spec), SizeIs(1));
  EXPECT_EQ(ToString(Warnings(spec)[0]),
            "spec.optimizer.nesterov: is not used by adam; use optimizer sgd or sgd-pytorch, or "
            "leave nesterov out");
}

TEST(Warnings, TellOfAnOverlapThatClippingTakesAway) {
  JobSpec spec = GoodSpec();
  spec.optimizer.clip_norm = 1;
  EXPECT_THAT(Warnings(spec), IsEmpty()) << "one worker has nothing to overlap with";
  spec.workers.max = 4;
  ASSERT_THAT(Warnings(spec), SizeIs(1));
  EXPECT_EQ(Warnings(spec)[0].path, "spec.optimizer.clip_norm");
  spec.exchange.algorithm = "allreduce";
  EXPECT_THAT(Warnings(spec), IsEmpty());
  spec.exchange.algorithm = "reduce-scatter";
  EXPECT_THAT(Warnings(spec), SizeIs(1));
}

TEST(Warnings, TellOfAWarmUpThatNeverEnds) {
  JobSpec spec = GoodSpec();
  spec.train.epochs = 2;
  spec.learning_rate.warmup_epochs = 2;
  ASSERT_THAT(Warnings(spec), SizeIs(1));
  EXPECT_EQ(Warnings(spec)[0].path, "spec.learning_rate.warmup_epochs");
}

}  // namespace
}  // namespace gg
