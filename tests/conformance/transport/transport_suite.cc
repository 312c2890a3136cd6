// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/transport/transport_suite.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/rng.h"

namespace gg {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(40);

thread_local bool inside_call = false;

// Goes off when it is destroyed unused, or used twice.
class Bomb {
 public:
  Bomb() = default;
  Bomb(Bomb&& other) noexcept : armed_(std::exchange(other.armed_, false)) {}
  ~Bomb() {
    if (armed_) ADD_FAILURE() << "a Done was destroyed without having run";
  }
  void Defuse() { EXPECT_TRUE(std::exchange(armed_, false)) << "a Done ran twice"; }

 private:
  bool armed_ = true;
};

}  // namespace

void Op::Start(const std::function<void(Done)>& call) {
  EXPECT_FALSE(std::exchange(inside_call, true));
  call([state = state_, bomb = Bomb()](absl::Status status) mutable {
    EXPECT_FALSE(inside_call) << "a Done ran inside the call that was given it";
    bomb.Defuse();
    MutexLock lock(&state->monitor.mu);
    state->done = true;
    state->status = std::move(status);
    state->monitor.changed.NotifyAll();
  });
  inside_call = false;
}

absl::Status Op::Wait() {
  State& s = *state_;
  MutexLock lock(&s.monitor.mu);
  if (RealClock().Await(
          s.monitor, [&] { return s.done; }, RealClock().Now() + kPatience)) {
    return s.status;
  }
  ADD_FAILURE() << "an operation did not end within " << kPatience;
  return absl::DeadlineExceededError("no Done");
}

bool Op::done() const {
  MutexLock lock(&state_->monitor.mu);
  return state_->done;
}

std::vector<uint8_t> Pattern(uint64_t seed, size_t bytes) {
  // A different byte at every position and for every seed, cheaply: sanitizer builds fill
  // megabytes.
  std::vector<uint8_t> data(bytes);
  uint64_t x = seed * 0x9E3779B97F4A7C15u + 1;
  for (size_t i = 0; i < bytes; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    data[i] = static_cast<uint8_t>(x >> 56);
  }
  return data;
}

View TransportConformance::MakeView(uint64_t number) const {
  View view;
  view.number = number;
  for (size_t rank = 0; rank < transports_.size(); ++rank) {
    view.members.push_back({absl::StrCat("worker-", rank), transports_[rank]->local_address()});
  }
  return view;
}

void TransportConformance::Start(int size, TransportOptions options) {
  for (int i = 0; i < size; ++i) {
    transports_.push_back(world_->Make(options));
    ASSERT_NE(transports_.back(), nullptr);
  }
  view_ = MakeView(1);
  for (Rank rank = 0; rank < size; ++rank) groups_.push_back(Join(rank, view_));
}

std::unique_ptr<PeerGroup> TransportConformance::Join(Rank rank, const View& view,
                                                      absl::string_view job) {
  auto group = transports_[rank]->Join(job, view, rank);
  EXPECT_TRUE(group.ok()) << group.status();
  return group.ok() ? *std::move(group) : nullptr;
}

void TransportConformance::Meet(Rank a, Rank b) {
  const Tag tag{Channel::kCollective, 1'000'000, 0};
  const std::vector<uint8_t> hello = Pattern(1, 8);
  std::vector<uint8_t> at_a(8), at_b(8);
  Op ra = Recv(a, b, tag, &at_a), rb = Recv(b, a, tag, &at_b);
  Op sa = Send(a, b, tag, hello), sb = Send(b, a, tag, hello);
  for (Op* op : {&ra, &rb, &sa, &sb}) ASSERT_EQ(op->Wait(), absl::OkStatus());
}

bool TransportConformance::Eventually(const std::function<bool()>& ready) {
  Monitor monitor;
  MutexLock lock(&monitor.mu);
  const absl::Time deadline = RealClock().Now() + kPatience;
  while (!ready()) {
    if (RealClock().Now() > deadline) return false;
    monitor.changed.WaitFor(&monitor.mu, std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace gg
