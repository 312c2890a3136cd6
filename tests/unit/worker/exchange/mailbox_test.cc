// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/mailbox.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/reference/reference_device.h"
#include "tests/support/mailbox_values.h"
#include "tests/support/sim_network.h"
#include "worker/exchange/round_notes.h"
#include "worker/transport/inproc/inproc_transport.h"

namespace gg {
namespace {

// Mailboxes on the simulated network; bodies run in virtual time.
class MailboxSim {
 public:
  MailboxSim(int size, SimNetworkOptions options, int pool = 0)
      : network_(clock_, size, options), bodies_(size) {
    for (Rank r = 0; r < size; ++r) {
      devices_.push_back(MakeReferenceDevice());
      groups_.push_back(network_.Join(r));
      boxes_.push_back(Mailbox::Create(*devices_[r], *groups_[r], clock_, size, kFloats, pool));
      bodies_[r] = [] {};
    }
  }
  ~MailboxSim() { groups_.clear(); }

  SimClock& clock() { return clock_; }
  SimNetwork& network() { return network_; }
  Mailbox& box(Rank rank) { return *boxes_[rank]; }
  void On(Rank rank, std::function<void()> body) { bodies_[rank] = std::move(body); }
  void Run() { ASSERT_TRUE(clock_.Run(bodies_).ok()); }
  // Takes what comes until `count` have come or nothing has for a second.
  Strings Collect(Rank rank, size_t count) {
    Strings all;
    while (all.size() < count) {
      for (const std::string& value : TakeValues(box(rank))) all.push_back(value);
      if (all.size() >= count) break;
      if (!box(rank).Await(clock_.Now() + absl::Seconds(1)).ok()) break;
    }
    return all;
  }

 private:
  SimClock clock_;
  SimNetwork network_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<PeerGroup>> groups_;
  std::vector<std::shared_ptr<Mailbox>> boxes_;
  std::vector<std::function<void()>> bodies_;
};

TEST(Mailbox, PushesComeWholeAndInOrder) {
  for (const bool rendezvous : {false, true}) {
    MailboxSim sim(2, {.max_delay = absl::Milliseconds(5), .rendezvous = rendezvous});
    Strings sent, got;
    sim.On(0, [&] {
      for (int i = 1; i <= 20; ++i) {
        while (!Push(sim.box(0), 1, static_cast<float>(i)))
          sim.clock().Compute(absl::Milliseconds(1));
        sent.push_back(std::to_string(i));
      }
    });
    sim.On(1, [&] { got = sim.Collect(1, 20); });
    sim.Run();
    EXPECT_EQ(got, sent);
    EXPECT_EQ(sim.box(0).UnderWay(), 0);
    EXPECT_TRUE(sim.box(0).TakeFailures().empty());
  }
}

TEST(Mailbox, AReceiverThatDoesNotLookHoldsNobodyAndLosesNothing) {
  MailboxSim sim(3, {.rendezvous = true});
  int refused = 0, to_other = 0;
  Strings late, other;
  sim.On(0, [&] {
    for (int i = 1; i <= 10; ++i) {
      refused += Push(sim.box(0), 1, static_cast<float>(i)) ? 0 : 1;
      to_other += Push(sim.box(0), 2, static_cast<float>(i)) ? 1 : 0;
      sim.clock().Compute(absl::Milliseconds(10));
    }
  });
  sim.On(1, [&] {
    sim.clock().Compute(absl::Seconds(1));
    late = sim.Collect(1, 5);
  });
  sim.On(2, [&] { other = sim.Collect(2, 10); });
  sim.Run();
  EXPECT_EQ(refused, 6) << "two lie with the receiver, two are held";
  EXPECT_EQ(to_other, 10);
  EXPECT_EQ(late, (Strings{"1", "2", "3", "4"}));
  EXPECT_EQ(other.size(), 10u);
}

TEST(Mailbox, AFullPoolOfReceiversDelaysAndLosesNothing) {
  for (const bool rendezvous : {false, true}) {
    MailboxSim sim(6, {.max_delay = absl::Milliseconds(3), .rendezvous = rendezvous}, /*pool=*/2);
    std::map<std::string, int> got;
    size_t most = 0;
    for (Rank r = 1; r < 6; ++r) {
      sim.On(r, [&, r] {
        for (int i = 0; i < 4; ++i) {
          while (!Push(sim.box(r), 0, static_cast<float>(10 * r + i))) {
            sim.clock().Compute(absl::Milliseconds(1));
          }
        }
      });
    }
    sim.On(0, [&] {
      for (int i = 0; i < 200; ++i) {
        const auto arrivals = sim.box(0).Take();
        sim.clock().Compute(absl::Milliseconds(1));  // they stay valid
        most = std::max(most, arrivals.size());
        for (const auto& arrival : arrivals) {
          ASSERT_TRUE(arrival.status.ok()) << arrival.status;
          ++got[std::to_string(static_cast<int>(arrival.body[0]))];
          sim.box(0).Release(arrival);
        }
      }
    });
    sim.Run();
    EXPECT_EQ(got.size(), 20u);
    for (const auto& [value, times] : got) EXPECT_EQ(times, 1) << value;
    EXPECT_LE(most, 2u);
  }
}

TEST(Mailbox, ABodyThatIsOvertakenComesInItsPlaceOrIsToldOfThere) {
  for (const int64_t delay : {2, 50}) {
    MailboxSim sim(2, {});
    sim.network().fate = [&](Rank, Rank, const Tag& tag) {
      SimFate fate;
      fate.may_overtake = true;
      if (tag == BodyTag(1)) fate.extra_delay = absl::Milliseconds(delay);
      return fate;
    };
    Strings got;
    sim.On(0, [&] {
      for (int i = 0; i < 8; ++i) {
        while (!Push(sim.box(0), 1, static_cast<float>(i)))
          sim.clock().Compute(absl::Milliseconds(1));
      }
    });
    sim.On(1, [&] { got = sim.Collect(1, 8); });
    sim.Run();
    EXPECT_GT(sim.network().overtakings(), 0u);
    // One passes it; or as many as make it be given up.
    EXPECT_EQ(got, (Strings{"0", delay < 50 ? "1" : "-", "2", "3", "4", "5", "6", "7"}));
  }
}

TEST(Mailbox, SwallowedNotesAndBodiesCutNobodyOff) {
  for (const Tag swallowed : {NoteTag(1), NoteTag(3), BodyTag(0), BodyTag(2)}) {
    MailboxSim sim(2, {});
    sim.network().fate = [&](Rank, Rank, const Tag& tag) {
      SimFate fate;
      if (tag == swallowed) fate.kind = SimFate::kVanishes;
      return fate;
    };
    Strings got;
    sim.On(0, [&] {
      for (int i = 0; i < 12; ++i) {
        while (!Push(sim.box(0), 1, static_cast<float>(i))) {
          sim.clock().Compute(absl::Milliseconds(1));
        }
      }
    });
    sim.On(1, [&] { got = sim.Collect(1, 12); });
    sim.Run();
    const auto whole = got.size() - std::count(got.begin(), got.end(), "-");
    EXPECT_EQ(whole, 11u) << swallowed.step << " " << swallowed.block;
    EXPECT_EQ(got.size(), swallowed.block == 2 ? 12u : 11u) << "a note without its body is told of";
  }
}

TEST(Mailbox, ABodyIsNotOvertakenByWhatCameBeforeItWasAskedFor) {
  MailboxSim sim(2, {});
  Strings got;
  sim.On(0, [&] {
    for (int i = 1; i <= 4; ++i) {
      while (!Push(sim.box(0), 1, static_cast<float>(i)))
        sim.clock().Compute(absl::Milliseconds(1));
    }
    for (int i = 0; i < 6; ++i) {
      sim.box(0).Push(1, {.kind = 2});
      sim.clock().Compute(absl::Milliseconds(2));
    }
  });
  sim.On(1, [&] {
    // Two bodies are kept, so that the others cannot be asked for; notes alone come meanwhile.
    std::vector<Mailbox::Arrival> kept;
    for (int i = 0; i < 30; ++i) {
      sim.clock().Compute(absl::Milliseconds(2));
      for (const Mailbox::Arrival& arrival : sim.box(1).Take()) {
        if (arrival.note.kind == 1) {
          kept.push_back(arrival);
        } else {
          sim.box(1).Release(arrival);
        }
      }
    }
    EXPECT_EQ(kept.size(), 2u);
    for (const Mailbox::Arrival& arrival : kept) sim.box(1).Release(arrival);
    sim.box(1).Take();
    got = sim.Collect(1, 2);
  });
  sim.Run();
  EXPECT_EQ(got, (Strings{"3", "4"}));
}

TEST(Mailbox, TheLossOfAPeerEndsItsPushesAndNoOthers) {
  MailboxSim sim(3, {.rendezvous = true});
  std::vector<Mailbox::Failure> failures;
  Strings got;
  sim.On(0, [&] {
    // Two lie with the receiver, two are still to be taken when it dies; the note alone is there.
    for (int i = 1; i <= 4; ++i) {
      EXPECT_TRUE(Push(sim.box(0), 1, static_cast<float>(i)));
      sim.clock().Compute(absl::Milliseconds(10));
    }
    EXPECT_TRUE(sim.box(0).Push(1, {.kind = 2}));
    while (failures.size() < 2) {
      sim.box(0).Take();
      ASSERT_TRUE(sim.box(0).Await(sim.clock().Now() + absl::Seconds(5)).ok());
      for (auto& failure : sim.box(0).TakeFailures()) failures.push_back(std::move(failure));
    }
    sim.box(0).Take();
    EXPECT_FALSE(sim.box(0).Reachable(1));
    EXPECT_TRUE(sim.box(0).Reachable(2));
    EXPECT_TRUE(Push(sim.box(0), 2, 7));
    sim.clock().Compute(absl::Milliseconds(50));
    sim.box(0).Take();
    EXPECT_TRUE(absl::IsDeadlineExceeded(sim.box(0).Await(sim.clock().Now() + absl::Seconds(1))))
        << "that a lost peer is still lost is no news";
  });
  sim.On(2, [&] { got = sim.Collect(2, 1); });
  sim.clock().After(absl::Milliseconds(100), [&] { sim.network().Kill(1); });
  sim.Run();
  EXPECT_EQ(got, Strings{"7"});
  float weights = 0;
  for (const auto& failure : failures) {
    EXPECT_EQ(failure.to, 1);
    EXPECT_TRUE(absl::IsUnavailable(failure.status)) << failure.status;
    if (failure.floats == 0) continue;  // the note alone
    ASSERT_NE(failure.body, nullptr);
    EXPECT_EQ(failure.body->floats()[kFloats - 1] / 2, failure.note.weight) << "what it carried";
    weights += static_cast<float>(failure.note.weight);
  }
  EXPECT_EQ(weights, 3.5f);
  EXPECT_EQ(sim.box(0).UnderWay(), 0);
}

TEST(Mailbox, AbortWakesWhoWaits) {
  MailboxSim sim(2, {});
  sim.On(0, [&] {
    sim.box(0).Take();
    EXPECT_TRUE(absl::IsAborted(sim.box(0).Await(absl::InfiniteFuture())));
    const auto body = sim.box(0).Outgoing(1);
    EXPECT_TRUE(body.ok() && body->empty());
  });
  sim.clock().After(absl::Seconds(1), [&] { sim.box(0).Abort(absl::AbortedError("stop")); });
  sim.Run();
}

TEST(Mailbox, ManyThreadsLoseNoPush) {
  constexpr int kSize = 4, kPushes = 300;
  const auto network = MakeInprocNetwork();
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::shared_ptr<Mailbox>> boxes;
  std::vector<std::unique_ptr<PeerGroup>> groups;  // goes first
  View view;
  view.number = 1;
  for (Rank r = 0; r < kSize; ++r) {
    transports.push_back(network->MakeTransport(TransportOptions()));
    view.members.push_back({"worker-" + std::to_string(r), transports[r]->local_address()});
  }
  for (Rank r = 0; r < kSize; ++r) {
    devices.push_back(MakeReferenceDevice());
    groups.push_back(transports[r]->Join("job", view, r).value());
    boxes.push_back(Mailbox::Create(*devices[r], *groups[r], RealClock(), kSize, kFloats));
  }
  std::vector<std::thread> threads;
  std::array<std::map<std::string, int>, kSize> got;
  for (Rank r = 0; r < kSize; ++r) {
    threads.emplace_back([&, r] {
      int pushed = 0;
      size_t taken = 0;
      while (pushed < kPushes || taken < kPushes) {
        // Round robin, so that everybody gets as many as it sends.
        const Rank to = (r + 1 + pushed % (kSize - 1)) % kSize;
        const bool more =
            pushed < kPushes && Push(*boxes[r], to, static_cast<float>(1000 * r + pushed));
        if (more) ++pushed;
        for (const std::string& value : TakeValues(*boxes[r])) {
          ++got[r][value];
          ++taken;
        }
        if (more || (pushed == kPushes && taken == kPushes)) continue;
        ASSERT_TRUE(boxes[r]->Await(RealClock().Now() + absl::Seconds(60)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Rank r = 0; r < kSize; ++r) {
    EXPECT_EQ(got[r].size(), static_cast<size_t>(kPushes));
    EXPECT_FALSE(got[r].contains("-"));
  }
}

}  // namespace
}  // namespace gg
