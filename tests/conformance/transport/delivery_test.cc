// SPDX-License-Identifier: Apache-2.0
// Messages arrive whole, in order, at the right place.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/conformance/transport/transport_suite.h"

namespace gg {
namespace {

TEST_P(TransportConformance, CarriesEverySize) {
  Start(2);
  uint64_t step = 0, total = 0;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{4095}, size_t{(1 << 20) - 1}, size_t{1 << 20},
                       size_t{(1 << 20) + 1}, size_t{5'000'000}, size_t{64 << 20}}) {
    const std::vector<uint8_t> data = Pattern(step, bytes);
    std::vector<uint8_t> got(bytes, 0xAA);
    Op recv = Recv(1, 0, Exchange(step), &got);
    Op send = Send(0, 1, Exchange(step), data);
    ASSERT_EQ(send.Wait(), absl::OkStatus()) << bytes;
    ASSERT_EQ(recv.Wait(), absl::OkStatus()) << bytes;
    ASSERT_TRUE(got == data) << bytes;
    ++step;
    total += bytes;
  }
  EXPECT_EQ(groups_[0]->stats().sent_bytes, total);
  EXPECT_EQ(groups_[0]->stats().sent_messages, step);
  EXPECT_EQ(groups_[1]->stats().received_bytes, total);
  EXPECT_EQ(groups_[1]->stats().received_messages, step);
}

TEST_P(TransportConformance, CarriesUnalignedBuffersAndNothingBeyondThem) {
  Start(2);
  const std::vector<uint8_t> data = Pattern(7, 3'000'007);
  std::vector<uint8_t> got(data.size() + 16, 0x5C);
  constexpr size_t kFrom = 5, kInto = 3, kBytes = 2'999'993;
  Op recv([&](Done done) {
    groups_[1]->Recv(0, Exchange(1), Bytes(got.data() + kInto, kBytes), std::move(done));
  });
  Op send([&](Done done) {
    groups_[0]->Send(1, Exchange(1), ConstBytes(data.data() + kFrom, kBytes), std::move(done));
  });
  ASSERT_EQ(send.Wait(), absl::OkStatus());
  ASSERT_EQ(recv.Wait(), absl::OkStatus());
  EXPECT_TRUE(std::equal(data.begin() + kFrom, data.begin() + kFrom + kBytes, got.begin() + kInto));
  for (size_t i : {size_t{0}, size_t{1}, size_t{2}, kInto + kBytes, got.size() - 1}) {
    EXPECT_EQ(got[i], 0x5C) << i;
  }
}

TEST_P(TransportConformance, CarriesManyMessagesAtOnce) {
  Start(2);
  constexpr int kMessages = 300;
  std::vector<std::vector<uint8_t>> data, got;
  for (int i = 0; i < kMessages; ++i) {
    data.push_back(Pattern(i, (i * 7919) % 40'000));
    got.emplace_back(data.back().size());
  }
  std::vector<Op> ops;
  for (int i = 0; i < kMessages; ++i) ops.push_back(Send(0, 1, Exchange(i / 10, i % 10), data[i]));
  for (int i = kMessages - 1; i >= 0; --i) {
    ops.push_back(Recv(1, 0, Exchange(i / 10, i % 10), &got[i]));
  }
  for (Op& op : ops) ASSERT_EQ(op.Wait(), absl::OkStatus());
  for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(got[i] == data[i]) << i;
}

TEST_P(TransportConformance, KeepsTheOrderOfSendsOnAChannel) {
  Start(2);
  constexpr int kMessages = 100;
  const std::vector<uint8_t> data = Pattern(3, 10'000);
  std::vector<std::vector<uint8_t>> got(kMessages, std::vector<uint8_t>(data.size()));
  Mutex mu;
  std::vector<int> order;
  std::vector<Op> ops;
  for (int i = 0; i < kMessages; ++i) {
    ops.emplace_back([&](Done done) {
      groups_[1]->Recv(0, Exchange(1, i), absl::MakeSpan(got[i]),
                       [&, i, done = std::move(done)](absl::Status status) mutable {
                         {
                           MutexLock lock(&mu);
                           order.push_back(i);
                         }
                         done(std::move(status));
                       });
    });
  }
  for (int i = kMessages - 1; i >= 0; --i) ops.push_back(Send(0, 1, Exchange(1, i), data));
  for (Op& op : ops) ASSERT_EQ(op.Wait(), absl::OkStatus());
  MutexLock lock(&mu);
  ASSERT_EQ(order.size(), static_cast<size_t>(kMessages));
  EXPECT_TRUE(std::is_sorted(order.rbegin(), order.rend()));
}

TEST_P(TransportConformance, KeepsMessagesThatArriveBeforeTheirRecv) {
  Start(2);
  const std::vector<uint8_t> first = Pattern(1, 3'000'000), second = Pattern(2, 0),
                             third = Pattern(3, 100);
  Op s1 = Send(0, 1, Exchange(1), first), s2 = Send(0, 1, Exchange(2), second),
     s3 = Send(0, 1, Exchange(3), third);
  for (Op* op : {&s1, &s2, &s3}) ASSERT_EQ(op->Wait(), absl::OkStatus());
  std::vector<uint8_t> g1(first.size()), g2, g3(third.size());
  Op r3 = Recv(1, 0, Exchange(3), &g3), r2 = Recv(1, 0, Exchange(2), &g2),
     r1 = Recv(1, 0, Exchange(1), &g1);
  for (Op* op : {&r1, &r2, &r3}) ASSERT_EQ(op->Wait(), absl::OkStatus());
  EXPECT_TRUE(g1 == first);
  EXPECT_TRUE(g3 == third);
}

TEST_P(TransportConformance, HoldsTheSenderBackAndLosesNothing) {
  TransportOptions options;
  options.unexpected_bytes = 100'000;
  Start(2, options);
  constexpr size_t kBytes = 1 << 20;
  const int messages = static_cast<int>(GetParam().path_bytes / kBytes) + 24;
  const std::vector<uint8_t> data = Pattern(5, kBytes + messages);
  std::vector<Op> sends;
  for (int i = 0; i < messages; ++i) {
    sends.emplace_back([&](Done done) {
      groups_[0]->Send(1, Exchange(i), ConstBytes(data.data() + i, kBytes), std::move(done));
    });
  }
  const auto sent = [&] { return groups_[0]->stats().sent_bytes; };
  const absl::Time until = absl::Now() + absl::Milliseconds(300);
  Eventually([&] { return absl::Now() > until || sent() > GetParam().path_bytes; });
  EXPECT_LE(sent(), GetParam().path_bytes) << "the sender was not held back";
  for (int i = 0; i < messages; ++i) {
    std::vector<uint8_t> got(kBytes);
    ASSERT_EQ(Recv(1, 0, Exchange(i), &got).Wait(), absl::OkStatus()) << i;
    ASSERT_TRUE(std::equal(got.begin(), got.end(), data.begin() + i)) << i;
  }
  for (Op& send : sends) ASSERT_EQ(send.Wait(), absl::OkStatus());
}

TEST_P(TransportConformance, AHeldBackPeerDoesNotHoldBackOthers) {
  TransportOptions options;
  options.unexpected_bytes = 1000;
  Start(3, options);
  const std::vector<uint8_t> big = Pattern(5, 4 << 20), small = Pattern(6, 900);
  Op held = Send(0, 1, Exchange(1), big);
  std::vector<uint8_t> got(small.size());
  Op other = Send(2, 1, Exchange(1), small);
  ASSERT_EQ(Recv(1, 2, Exchange(1), &got).Wait(), absl::OkStatus());
  EXPECT_TRUE(got == small);
  std::vector<uint8_t> got_big(big.size());
  ASSERT_EQ(Recv(1, 0, Exchange(1), &got_big).Wait(), absl::OkStatus());
  EXPECT_TRUE(got_big == big);
  EXPECT_EQ(held.Wait(), absl::OkStatus());
  EXPECT_EQ(other.Wait(), absl::OkStatus());
}

TEST_P(TransportConformance, ExchangesAllToAll) {
  for (int size = 2; size <= 8; ++size) {
    groups_.clear();
    transports_.clear();
    Start(size);
    const auto seed = [&](Rank from, Rank to) { return 1000u * from + to; };
    constexpr size_t kBytes = 60'001;
    std::vector<std::vector<uint8_t>> data, got;
    data.reserve(size * size);
    got.reserve(size * size);
    std::vector<Op> ops;
    for (Rank a = 0; a < size; ++a) {
      for (Rank b = 0; b < size; ++b) {
        data.push_back(Pattern(seed(a, b), kBytes));
        got.emplace_back(kBytes);
        if (a == b) continue;
        ops.push_back(Send(a, b, Exchange(9), data.back()));
        ops.push_back(Recv(a, b, Exchange(9), &got.back()));
      }
    }
    for (Op& op : ops) ASSERT_EQ(op.Wait(), absl::OkStatus()) << size;
    for (Rank a = 0; a < size; ++a) {
      for (Rank b = 0; b < size; ++b) {
        EXPECT_TRUE(a == b || got[a * size + b] == data[b * size + a]) << a << " from " << b;
      }
    }
  }
}

TEST_P(TransportConformance, DoneMaySendAndReceive) {
  Start(2);
  // A ball thrown to and fro by the callbacks alone.
  struct Player {
    PeerGroup* group;
    Rank other;
    std::vector<uint8_t> ball = std::vector<uint8_t>(64);
  };
  constexpr uint64_t kRounds = 50;
  Player players[2] = {{groups_[0].get(), 1}, {groups_[1].get(), 0}};
  Monitor monitor;
  int finished = 0;
  std::function<void(Player*, uint64_t)> play = [&](Player* p, uint64_t round) {
    if (round == kRounds) {
      MutexLock lock(&monitor.mu);
      ++finished;
      monitor.changed.NotifyAll();
      return;
    }
    const auto receive = [&play, p, round] {
      p->group->Recv(p->other, Exchange(round), absl::MakeSpan(p->ball),
                     [&play, p, round](absl::Status status) {
                       EXPECT_EQ(status, absl::OkStatus());
                       play(p, round + 1);
                     });
    };
    const bool throws = round % 2 == static_cast<uint64_t>(p->other);
    if (!throws) return receive();
    p->group->Send(p->other, Exchange(round), p->ball, [&play, p, round](absl::Status status) {
      EXPECT_EQ(status, absl::OkStatus());
      play(p, round + 1);
    });
  };
  play(&players[0], 0);
  play(&players[1], 0);
  MutexLock lock(&monitor.mu);
  EXPECT_TRUE(RealClock().Await(
      monitor, [&] { return finished == 2; }, RealClock().Now() + absl::Seconds(40)));
}

TEST_P(TransportConformance, SaysHowAPeerIsReached) {
  Start(2);
  Meet(0, 1);
  EXPECT_TRUE(absl::StrContains(groups_[0]->DescribePeer(1), GetParam().describes))
      << groups_[0]->DescribePeer(1);
  EXPECT_TRUE(absl::StrContains(groups_[0]->DescribePeer(1), "connected"));
  EXPECT_FALSE(groups_[0]->DescribePeer(0).empty());
  EXPECT_FALSE(groups_[0]->DescribePeer(77).empty());
}

}  // namespace
}  // namespace gg
