// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "gtest/gtest.h"
#include "tests/support/sim_worker.h"
#include "worker/exchange/exchange.h"

namespace gg {
namespace {

absl::Status Make(ExchangeSpec spec, int size = 1, Rank rank = 0) {
  // The checks come before anything of the context is used.
  ExchangeContext context;
  context.spec = std::move(spec);
  context.size = size;
  context.rank = rank;
  context.clock = &RealClock();
  return MakeExchange(std::move(context)).status();
}

TEST(MakeExchange, UnknownNamesListWhatIsPossible) {
  ExchangeSpec spec;
  spec.algorithm = "gosip";
  EXPECT_EQ(Make(spec).message(),
            "unknown exchange algorithm 'gosip': use one of gossip-grad, allreduce, "
            "allreduce-layerwise, reduce-scatter, periodic-average, local-sgd, cocod, d-psgd, sgp, "
            "gosgd, ad-psgd, easgd, none");
  spec = ExchangeSpec();
  spec.payload = "weight";
  EXPECT_EQ(Make(spec).message(),
            "unknown exchange payload 'weight': use one of gradients, weights, weights-momentum");
  spec = ExchangeSpec();
  spec.overlap = "full";
  EXPECT_EQ(Make(spec).message(),
            "unknown exchange overlap 'full': use one of none, layerwise, step");
  spec = ExchangeSpec();
  spec.schedule = "torus";
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
  spec.schedule = "graph";
  EXPECT_EQ(Make(spec).message(), "schedule graph needs spec.exchange.graph_file");
  spec.graph_file = "/nonexistent/graph";
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kNotFound);
  spec = ExchangeSpec();
  spec.collective = "tree";
  EXPECT_EQ(Make(spec).message(),
            "unknown exchange collective 'tree': use one of auto, ring, halving-doubling, "
            "recursive-doubling");
}

TEST(MakeExchange, OnlyMethodsThatGoByAScheduleLookAtIt) {
  for (const absl::string_view name : ExchangeNames()) {
    const bool goes_by_it = name == "gossip-grad" || name == "sgp";
    ExchangeSpec spec;
    spec.algorithm = std::string(name);
    spec.schedule = "graph";  // without a file
    if (goes_by_it) {
      EXPECT_EQ(Make(spec).message(), "schedule graph needs spec.exchange.graph_file") << name;
      continue;
    }
    for (const char* schedule : {"graph", "hierarchical", "hypercube"}) {
      spec.schedule = schedule;
      spec.graph_file = "/nonexistent/graph";
      SimWorker worker(SimModel(), spec, 1, 0, RealClock(), nullptr);
      EXPECT_EQ(worker.exchange().name(), name) << schedule;
    }
  }
}

TEST(MakeExchange, AnEncodingThatDoesNotFitIsRefused) {
  ExchangeSpec spec;
  spec.encoding = "fp8";
  EXPECT_EQ(Make(spec).message(),
            "unknown exchange encoding 'fp8': use one of fp32, bf16, fp16, int8, topk");
  for (const char* algorithm : {"gossip-grad", "allreduce", "local-sgd", "cocod", "none"}) {
    spec = ExchangeSpec();
    spec.encoding = "topk";
    spec.algorithm = algorithm;
    EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument) << algorithm;
    EXPECT_NE(Make(spec).message().find("payload gradients"), std::string::npos);
  }
  spec = ExchangeSpec();
  spec.encoding = "topk";
  spec.payload = "gradients";
  spec.topk_share = 0;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
}

TEST(MakeExchange, AGuardThatIsNoneIsRefused) {
  ExchangeSpec spec;
  spec.norm_limit = -1;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
  spec = ExchangeSpec();
  spec.quarantine_after = -1;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
  spec = ExchangeSpec();
  spec.staleness_bound = -1;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
}

TEST(MakeExchange, NonsenseIsRefused) {
  ExchangeSpec spec;
  spec.deadline_seconds = 0;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
  spec.deadline_seconds = -1;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
  spec = ExchangeSpec();
  spec.collective_seconds = 0;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
  spec = ExchangeSpec();
  spec.period = -1;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
  spec = ExchangeSpec();
  spec.staleness_bound = -1;
  EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument);
  for (const char* algorithm : {"gosgd", "ad-psgd", "easgd"}) {
    for (const char* payload : {"gradients", "weights-momentum"}) {
      spec = ExchangeSpec();
      spec.algorithm = algorithm;
      spec.payload = payload;
      EXPECT_EQ(Make(spec).code(), absl::StatusCode::kInvalidArgument) << algorithm << payload;
    }
  }
  EXPECT_EQ(Make(ExchangeSpec(), 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Make(ExchangeSpec(), 4, 4).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Make(ExchangeSpec(), 4, -1).code(), absl::StatusCode::kInvalidArgument);
}

TEST(MakeExchange, SeveralWorkersWithoutAGroupAreRefusedAtOnce) {
  EXPECT_EQ(Make(ExchangeSpec(), 4).message(),
            "exchange: 4 workers, but no group to reach them through");
}

TEST(MakeExchange, EveryNameCanBeMadeForOneWorkerAndKeepsItsName) {
  for (const absl::string_view name : ExchangeNames()) {
    ExchangeSpec spec;
    spec.algorithm = std::string(name);
    SimWorker worker(SimModel(), spec, 1, 0, RealClock(), nullptr);
    EXPECT_EQ(worker.exchange().name(), name);
  }
}

TEST(ExchangeWarnings, GradientsAloneNeedAnAverage) {
  ExchangeSpec spec;
  EXPECT_TRUE(ExchangeWarnings(spec, 8).empty());
  spec.payload = "gradients";
  ASSERT_EQ(ExchangeWarnings(spec, 8).size(), 1u);
  EXPECT_NE(ExchangeWarnings(spec, 8)[0].find("average_every"), std::string::npos);
  EXPECT_TRUE(ExchangeWarnings(spec, 1).empty());
  spec.average_every = 100;
  EXPECT_TRUE(ExchangeWarnings(spec, 8).empty());
  spec = ExchangeSpec();
  spec.algorithm = "none";
  EXPECT_EQ(ExchangeWarnings(spec, 2).size(), 1u);
}

}  // namespace
}  // namespace gg
