// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/schedule.h"

#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

std::unique_ptr<PartnerSchedule> Make(absl::string_view name, int size, uint64_t seed = 1,
                                      bool rotate = true) {
  auto schedule = MakeSchedule(name, {.size = size, .seed = seed, .rotate = rotate});
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return std::move(schedule).value();
}

// With what hierarchical and graph need besides: groups of two where the size is even, a ring.
std::unique_ptr<PartnerSchedule> MakeAny(absl::string_view name, int size) {
  ScheduleOptions options = {.size = size, .seed = 1};
  ScheduleGraph ring = {.size = size, .send_to = {}, .round_length = size - 1};
  if (size > 1) ring.send_to.emplace_back();
  for (Rank r = 0; r < size; ++r) {
    options.places.push_back(absl::StrCat(size % 2 == 0 ? r / 2 : r));
    if (size > 1) ring.send_to[0].push_back((r + 1) % size);
  }
  options.graph = std::make_shared<ScheduleGraph>(std::move(ring));
  auto schedule = MakeSchedule(name, options);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return std::move(schedule).value();
}

TEST(Dissemination, SendsDownAndReceivesFromUpInTheFirstRound) {
  const auto schedule = Make("dissemination", 5);
  EXPECT_EQ(schedule->round_length(), 3);
  EXPECT_EQ(schedule->At(0, 0), (Partners{4, 1}));
  EXPECT_EQ(schedule->At(0, 1), (Partners{3, 2}));
  EXPECT_EQ(schedule->At(0, 2), (Partners{1, 4}));
}

TEST(Exponential, SendsUpByPowersOfTwo) {
  const auto schedule = Make("exponential", 5);
  EXPECT_EQ(schedule->round_length(), 3);
  EXPECT_EQ(schedule->At(0, 0), (Partners{1, 4}));
  EXPECT_EQ(schedule->At(0, 1), (Partners{2, 3}));
  EXPECT_EQ(schedule->At(0, 2), (Partners{4, 1}));
  const auto down = Make("dissemination", 23);
  const auto up = Make("exponential", 23);
  for (uint64_t step = 0; step < 40; ++step) {
    for (Rank r = 0; r < 23; ++r) {
      const Partners partners = down->At(r, step);
      EXPECT_EQ(up->At(r, step), (Partners{partners.recv_from, partners.send_to}));
    }
  }
}

TEST(Ring, SendsToTheNextForAWholeRound) {
  const auto schedule = Make("ring", 5);
  EXPECT_EQ(schedule->round_length(), 4);
  for (uint64_t step = 0; step < 4; ++step) EXPECT_EQ(schedule->At(4, step), (Partners{0, 3}));
  const std::vector<Rank> ranks = schedule->Rotation(4);
  EXPECT_EQ(schedule->At(ranks[1], 7), (Partners{ranks[2], ranks[0]}));
}

TEST(Random, PairsSwapAndOneOfAnOddNumberRests) {
  for (const int size : {2, 6, 7}) {
    const auto schedule = Make("random", size);
    std::vector<int> rests(size);
    std::set<std::vector<Rank>> matchings;
    for (uint64_t step = 0; step < 200; ++step) {
      int resting = 0;
      std::vector<Rank> partner;
      for (Rank r = 0; r < size; ++r) {
        const Partners partners = schedule->At(r, step);
        EXPECT_EQ(partners.send_to, partners.recv_from);
        partner.push_back(partners.send_to);
        if (partners.send_to >= 0) continue;
        ++resting;
        ++rests[r];
      }
      EXPECT_EQ(resting, size % 2);
      matchings.insert(partner);
    }
    // 1, 15 and 105 are possible.
    EXPECT_GE(matchings.size(), size == 2 ? 1u : size == 6 ? 15u : 80u);
    for (const int times : rests) EXPECT_EQ(times > 0, size % 2 == 1);
  }
}

TEST(Random, DoesNotRotateAndDrawsNewPairsAllTheSame) {
  const auto fixed = Make("random", 16, 1, false);
  const auto rotated = Make("random", 16, 1, true);
  std::set<Rank> met;
  for (uint64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(fixed->Table(step), rotated->Table(step));
    met.insert(fixed->At(0, step).send_to);
  }
  EXPECT_EQ(met.size(), 15u);
}

TEST(Hypercube, PartnersDifferInOneBit) {
  const auto schedule = Make("hypercube", 8);
  EXPECT_EQ(schedule->At(5, 0), (Partners{4, 4}));
  EXPECT_EQ(schedule->At(5, 1), (Partners{7, 7}));
  EXPECT_EQ(schedule->At(5, 2), (Partners{1, 1}));
}

// MaTEx refused every size that is no power of two, for dissemination too.
TEST(Dissemination, DisseminationAcceptsAnySize) {
  for (int size = 1; size <= 100; ++size) EXPECT_EQ(Make("dissemination", size)->size(), size);
}

// MaTEx computed a round of -1 steps for one worker; torchdistx made it its own partner and
// stopped.
TEST(Schedules, OneWorkerHasNoPartner) {
  for (const absl::string_view name : ScheduleNames()) {
    const auto schedule = MakeAny(name, 1);
    EXPECT_EQ(schedule->round_length(), 0) << name;
    for (uint64_t step = 0; step < 5; ++step) {
      EXPECT_EQ(schedule->At(0, step), (Partners{-1, -1}));
      EXPECT_EQ(schedule->Rotation(step), std::vector<Rank>{0});
    }
  }
}

// torchdistx only checked for an even number and left workers idle.
TEST(Hypercube, HypercubeRefusesSix) {
  const auto six = MakeSchedule("hypercube", {.size = 6});
  EXPECT_EQ(six.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(six.status().message(),
            "schedule hypercube needs a power of two of workers, not 6: use 4 or 8 workers, or the "
            "schedule dissemination, which serves any number");
  for (const int size : {3, 5, 7, 10, 12, 24, 63}) {
    EXPECT_FALSE(MakeSchedule("hypercube", {.size = size}).ok()) << size;
  }
}

TEST(MakeSchedule, RefusesUnknownNamesAndSizes) {
  const auto unknown = MakeSchedule("torus", {.size = 4});
  EXPECT_EQ(unknown.status().message(),
            "unknown schedule 'torus': use one of dissemination, hypercube, ring, exponential, "
            "random, hierarchical, graph");
  EXPECT_EQ(MakeSchedule("dissemination", {.size = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeSchedule("dissemination", {.size = -3}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Rotation, BeginsWithTheIdentityAndChangesWithEveryRound) {
  const auto schedule = Make("dissemination", 16);
  std::vector<Rank> identity(16);
  for (int i = 0; i < 16; ++i) identity[i] = i;
  std::set<std::vector<Rank>> seen;
  for (uint64_t round = 0; round < 10; ++round) {
    const std::vector<Rank> first = schedule->Rotation(round * 4);
    for (uint64_t k = 1; k < 4; ++k) EXPECT_EQ(schedule->Rotation(round * 4 + k), first);
    seen.insert(first);
    if (round == 0) {
      EXPECT_EQ(first, identity);
    }
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Rotation, CanBeSwitchedOff) {
  const auto schedule = Make("dissemination", 16, 1, false);
  for (uint64_t step = 0; step < 12; ++step) {
    EXPECT_EQ(schedule->At(3, step), schedule->At(3, step + 4));
  }
}

TEST(Rotation, DependsOnTheSeed) {
  EXPECT_NE(Make("dissemination", 16, 1)->Rotation(4), Make("dissemination", 16, 2)->Rotation(4));
}

TEST(Rotation, MakesEveryPairMeetInTime) {
  const auto schedule = Make("dissemination", 12);
  std::set<std::pair<Rank, Rank>> met;
  for (uint64_t step = 0; step < 400; ++step) {
    for (Rank r = 0; r < 12; ++r) met.insert({r, schedule->At(r, step).send_to});
  }
  EXPECT_EQ(met.size(), 12u * 11u);
}

// MaTEx and torchdistx kept the position in a counter that no checkpoint held; a resumed run began
// again.
TEST(Schedules, SchedulePositionIsAFunctionOfTheStep) {
  for (const absl::string_view name : ScheduleNames()) {
    const auto running = MakeAny(name, 16);
    std::map<uint64_t, Partners> expected;
    for (uint64_t step = 0; step < 200; ++step) expected[step] = running->At(3, step);
    const auto resumed = MakeAny(name, 16);
    for (const uint64_t step : {150u, 151u, 7u, 199u, 0u}) {
      EXPECT_EQ(resumed->At(3, step), expected[step]) << name << " step " << step;
    }
  }
}

// torchdistx moved on at every call of the hook, so the parts of one model met different partners.
TEST(Schedules, AskingDoesNotAdvance) {
  const auto schedule = Make("dissemination", 4);
  const Partners first = schedule->At(2, 5);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(schedule->At(2, 5), first);
}

// torchdistx seeded the process-wide generator, which changed the users' augmentation.
TEST(Schedules, ScheduleDoesNotTouchOtherRandomStreams) {
  Rng alone(1, "shuffle");
  std::vector<uint32_t> expected;
  for (int i = 0; i < 64; ++i) expected.push_back(alone.NextU32());
  Rng beside(1, "shuffle");
  const auto schedule = Make("dissemination", 16, 1);
  std::srand(5);
  const int expected_global = std::rand();
  std::srand(5);
  for (int i = 0; i < 64; ++i) {
    schedule->At(i % 16, i);
    EXPECT_EQ(beside.NextU32(), expected[i]);
  }
  EXPECT_EQ(std::rand(), expected_global);
}

TEST(Schedules, LateStepsWork) {
  const auto schedule = Make("dissemination", 64);
  const uint64_t late = ~uint64_t{0} - 1;
  const Partners partners = schedule->At(9, late);
  EXPECT_EQ(schedule->At(partners.send_to, late).recv_from, 9);
}

TEST(Fingerprint, EqualForEqualSchedulesAndDifferentForAnyDifference) {
  const uint64_t base = ScheduleFingerprint(*Make("dissemination", 8, 1));
  EXPECT_EQ(base, ScheduleFingerprint(*Make("dissemination", 8, 1)));
  EXPECT_NE(base, ScheduleFingerprint(*Make("dissemination", 8, 2)));
  EXPECT_NE(base, ScheduleFingerprint(*Make("dissemination", 9, 1)));
  EXPECT_NE(base, ScheduleFingerprint(*Make("hypercube", 8, 1)));
  EXPECT_NE(base, ScheduleFingerprint(*Make("dissemination", 8, 1, false)));
}

}  // namespace
}  // namespace gg
