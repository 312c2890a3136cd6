// SPDX-License-Identifier: Apache-2.0
// Collectives over the simulated network: sums, bits, and what is said when somebody is missing.
#include "worker/collective/run.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/reference/reference_device.h"
#include "tests/support/sim_clock.h"
#include "tests/support/sim_network.h"

namespace gg {
namespace {

struct Outcome {
  absl::Status status;
  Rank missing = -1;
  std::vector<float> values;
  uint64_t messages = 0;
};

struct Setup {
  CollectiveOp op = CollectiveOp::kAllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  int size = 4;
  size_t count = 100;
  size_t piece = 7;
  absl::Duration deadline = absl::Seconds(5);
  int rounds = 1;  // collectives one after another in the same memory
  WireFormat format = {};
};

float Initial(Rank rank, size_t i) {
  return 0.1f * static_cast<float>(rank + 1) + 1.7f * static_cast<float>(i % 13);
}

std::vector<Outcome> RunAll(const Setup& s, SimNetwork& network, SimClock& clock) {
  const auto device = MakeReferenceDevice();
  std::vector<std::unique_ptr<PeerGroup>> groups;
  std::vector<std::shared_ptr<CollectiveRun>> runs(s.size);
  std::vector<std::function<void()>> bodies;
  std::vector<Outcome> outcomes(s.size);
  for (Rank r = 0; r < s.size; ++r) groups.push_back(network.Join(r));
  for (Rank r = 0; r < s.size; ++r) {
    bodies.push_back([&, r] {
      if (network.killed(r)) return;
      const auto program = CompileCollective(s.op, s.algorithm, s.size, r, s.count, s.piece,
                                             BlockValues(s.format.encoding))
                               .value();
      CollectiveMemory memory = AllocateCollective(*device, *program).value();
      for (int round = 0; round < s.rounds; ++round) {
        for (size_t i = 0; i < s.count; ++i) memory.values->floats()[i] = Initial(r, i);
        runs[r] = CollectiveRun::Start(*device, FloatLink::Create(*groups[r], s.format), clock,
                                       program, 40 + round, std::move(memory));
        clock.Compute(absl::Milliseconds(1));  // something else meanwhile
        Outcome& out = outcomes[r];
        out.status = runs[r]->Await(clock.Now() + s.deadline);
        out.missing = runs[r]->missing();
        const Flat values = runs[r]->values();
        out.values.assign(values.begin(), values.end());
        out.messages += program->messages;
        if (!out.status.ok()) return;
        memory = runs[r]->TakeMemory();
      }
    });
  }
  EXPECT_TRUE(clock.Run(std::move(bodies)).ok());
  groups.clear();
  return outcomes;
}

float SumOf(int size, size_t i) {
  double sum = 0;
  for (Rank r = 0; r < size; ++r) sum += Initial(r, i);
  return static_cast<float>(sum);
}

class CollectiveRunTest : public testing::TestWithParam<std::tuple<CollectiveAlgorithm, bool>> {
 protected:
  CollectiveAlgorithm algorithm = std::get<0>(GetParam());
  bool rendezvous = std::get<1>(GetParam());
};

TEST_P(CollectiveRunTest, AllReduceServesAnyNumberOfWorkersFloatsAndPieces) {
  for (int size = 1; size <= 9; ++size) {
    for (const size_t count : {0u, 1u, 5u, 101u}) {
      for (const size_t piece : {1u, 16u, 1000u}) {
        SimClock clock;
        SimNetwork network(
            clock, size, {.seed = 3, .max_delay = absl::Milliseconds(9), .rendezvous = rendezvous});
        const auto outcomes = RunAll(
            {.algorithm = algorithm, .size = size, .count = count, .piece = piece, .rounds = 2},
            network, clock);
        for (Rank r = 0; r < size; ++r) {
          ASSERT_TRUE(outcomes[r].status.ok()) << "p=" << size << " " << outcomes[r].status;
          EXPECT_EQ(outcomes[r].values, outcomes[0].values) << "not the same bits";
          for (size_t i = 0; i < count; ++i) {
            EXPECT_NEAR(outcomes[r].values[i], SumOf(size, i), 1e-4);
          }
        }
      }
    }
  }
}

TEST_P(CollectiveRunTest, ScatteredAndGatheredIsReduced) {
  for (const int size : {2, 3, 4, 7, 8}) {
    const bool power_of_two = std::has_single_bit(static_cast<unsigned>(size));
    if (algorithm == CollectiveAlgorithm::kRecursiveDoubling) return;  // has neither
    if (algorithm == CollectiveAlgorithm::kHalvingDoubling && !power_of_two) continue;
    SimClock clock;
    SimNetwork network(clock, size, {.max_delay = absl::Milliseconds(9), .rendezvous = rendezvous});
    const auto scattered = RunAll(
        {.op = CollectiveOp::kReduceScatter, .algorithm = algorithm, .size = size}, network, clock);
    for (Rank r = 0; r < size; ++r) {
      ASSERT_TRUE(scattered[r].status.ok()) << scattered[r].status;
      const Range strip = Strip(100, size, r);
      for (size_t i = strip.begin; i < strip.end; ++i) {
        EXPECT_NEAR(scattered[r].values[i], SumOf(size, i), 1e-4);
      }
    }
    SimClock again;
    SimNetwork second(again, size, {.max_delay = absl::Milliseconds(9), .rendezvous = rendezvous});
    const auto gathered = RunAll(
        {.op = CollectiveOp::kAllGather, .algorithm = algorithm, .size = size}, second, again);
    for (Rank r = 0; r < size; ++r) {
      ASSERT_TRUE(gathered[r].status.ok()) << gathered[r].status;
      for (Rank owner = 0; owner < size; ++owner) {
        const Range strip = Strip(100, size, owner);
        for (size_t i = strip.begin; i < strip.end; ++i) {
          EXPECT_EQ(gathered[r].values[i], Initial(owner, i));
        }
      }
    }
  }
}

TEST_P(CollectiveRunTest, EncodedTheSameBitsComeEverywhereWhateverThePieces) {
  for (const char* encoding : {"bf16", "fp16", "int8"}) {
    const WireFormat format = *ParseWireFormat(encoding, 1, 3);
    for (int size = 2; size <= 9; ++size) {
      for (const size_t count : {1u, 63u, 200u, 700u}) {
        for (const size_t piece : {1u, 100u, 1000u}) {
          SimClock clock;
          SimNetwork network(
              clock, size,
              {.seed = 3, .max_delay = absl::Milliseconds(9), .rendezvous = rendezvous});
          const auto outcomes = RunAll({.algorithm = algorithm,
                                        .size = size,
                                        .count = count,
                                        .piece = piece,
                                        .rounds = 2,
                                        .format = format},
                                       network, clock);
          // At most 2 p roundings of sums below 22 p, each of a 64th.
          const double bound = 2.0 * size * 22 * size / 63.5;
          for (Rank r = 0; r < size; ++r) {
            ASSERT_TRUE(outcomes[r].status.ok()) << encoding << " " << outcomes[r].status;
            ASSERT_EQ(outcomes[r].values, outcomes[0].values)
                << encoding << " p=" << size << " n=" << count << " piece " << piece;
            for (size_t i = 0; i < count; ++i) {
              EXPECT_NEAR(outcomes[r].values[i], SumOf(size, i), bound);
            }
          }
        }
      }
    }
  }
}

TEST_P(CollectiveRunTest, WhoIsMissingIsNamed) {
  for (const bool silent : {false, true}) {
    for (Rank missing = 0; missing < 5; ++missing) {
      SimClock clock;
      SimNetwork network(clock, 5, {.rendezvous = rendezvous});
      silent ? network.Silence(missing) : network.Kill(missing);
      const auto outcomes = RunAll({.algorithm = algorithm, .size = 5}, network, clock);
      for (Rank r = 0; r < 5; ++r) {
        if (r == missing) continue;
        EXPECT_FALSE(outcomes[r].status.ok()) << "rank " << r << " without " << missing;
        EXPECT_GE(outcomes[r].missing, 0);
      }
      EXPECT_LE(clock.elapsed(), absl::Seconds(5.1));
      // Somebody who talks to it says who it is.
      int named = 0;
      for (Rank r = 0; r < 5; ++r) {
        if (r == missing) continue;
        named += outcomes[r].missing == missing &&
                 outcomes[r].status.message().find("worker-" + std::to_string(missing)) !=
                     absl::string_view::npos;
      }
      EXPECT_GT(named, 0) << "silent " << silent << " missing " << missing;
    }
  }
}

TEST_P(CollectiveRunTest, ACorruptPieceFailsTheCollectiveAndNamesItsSender) {
  SimClock clock;
  SimNetwork network(clock, 4, {.rendezvous = rendezvous});
  Rank from = -1, to = -1;
  network.fate = [&](Rank sender, Rank receiver, const Tag&) {
    if (from >= 0) return SimFate{};
    from = sender, to = receiver;
    return SimFate{SimFate::kIsCorrupt, {}};
  };
  const auto outcomes = RunAll({.algorithm = algorithm}, network, clock);
  ASSERT_GE(to, 0);
  EXPECT_FALSE(outcomes[to].status.ok());
  EXPECT_EQ(outcomes[to].missing, from) << outcomes[to].status;
}

INSTANTIATE_TEST_SUITE_P(All, CollectiveRunTest,
                         testing::Combine(testing::Values(CollectiveAlgorithm::kRing,
                                                          CollectiveAlgorithm::kHalvingDoubling,
                                                          CollectiveAlgorithm::kRecursiveDoubling),
                                          testing::Bool()));

TEST(CollectiveRun, PiecesFollowEachOtherThroughTheRing) {
  // Links that take 0.1 ms for each value, one message after another, and 5 ms on the way. A phase of
  // the ring is a strip of 100 values: six in a row take 90 ms, followed piece by piece 60 and a bit.
  const auto elapsed = [](size_t piece) {
    SimClock clock;
    SimNetwork network(clock, 4,
                       {.min_delay = absl::Milliseconds(5), .max_delay = absl::Milliseconds(5)});
    std::map<Rank, absl::Time> free;
    network.fate = [&](Rank from, Rank, const Tag&) {
      absl::Time& until = free[from];
      until = std::max(until, clock.Now()) + absl::Microseconds(100) * static_cast<double>(piece);
      return SimFate{SimFate::kArrives, until - clock.Now()};
    };
    const auto outcomes = RunAll({.count = 400, .piece = piece}, network, clock);
    for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome.status.ok());
    return clock.elapsed();
  };
  EXPECT_GE(elapsed(100), absl::Milliseconds(90));
  EXPECT_LT(elapsed(10), absl::Milliseconds(75));
}

TEST(CollectiveRun, AbortEndsTheWaitAndTheMemoryLivesOn) {
  SimClock clock;
  SimNetwork network(clock, 2, {});
  const auto device = MakeReferenceDevice();
  auto group = network.Join(0);
  const auto program =
      CompileCollective(CollectiveOp::kAllReduce, CollectiveAlgorithm::kRing, 2, 0, 64, 16).value();
  absl::Status status;
  ASSERT_TRUE(clock
                  .Run({[&] {
                    auto run =
                        CollectiveRun::Start(*device, FloatLink::Create(*group, {}), clock, program,
                                             1, AllocateCollective(*device, *program).value());
                    clock.After(absl::Milliseconds(20),
                                [run] { run->Abort(absl::CancelledError("the job is over")); });
                    status = run->Await(clock.Now() + absl::Seconds(9));
                    EXPECT_TRUE(run->finished());
                    EXPECT_EQ(run->Await(clock.Now() + absl::Seconds(9)), status) << "final";
                  }})
                  .ok());
  EXPECT_EQ(status.message(), "the job is over");
  EXPECT_LT(clock.elapsed(), absl::Seconds(1));
  group.reset();
}

TEST(CollectiveProgram, RefusesWhatATagCannotNumber) {
  const auto program = CompileCollective(CollectiveOp::kAllReduce, CollectiveAlgorithm::kRing, 2, 0,
                                         size_t{1} << 24, 1);
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gg
