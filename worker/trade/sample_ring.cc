// SPDX-License-Identifier: Apache-2.0
#include "worker/trade/sample_ring.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/trade/ring_link.h"
#include "worker/trade/trade.h"

namespace gg {
namespace {

class NoRing final : public SampleRing {
 public:
  absl::Status Begin(absl::Span<const int64_t>) override { return absl::OkStatus(); }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Drain(absl::Time) override { return absl::OkStatus(); }
  TradeStats stats() const override { return {}; }
};

class NeighbourRing final : public SampleRing {
 public:
  NeighbourRing(const SampleRingOptions& options, ShardStore& store, PeerGroup& group, Clock& clock,
                MetricSink& metrics)
      : options_(options),
        store_(store),
        group_(group),
        clock_(clock),
        metrics_(metrics),
        left_((group.self() + group.view().size() - 1) % group.view().size()),
        right_((group.self() + 1) % group.view().size()),
        ask_period_(options.deadline),
        travelling_(static_cast<size_t>(store.size())),
        seen_in_(static_cast<size_t>(store.size())) {}

  // Memory on loan lives as long as its callback: nothing is waited for.
  ~NeighbourRing() override {
    if (link_ != nullptr) link_->Close();
  }

  absl::Status Begin(absl::Span<const int64_t> used) override {
    GG_ASSIGN_OR_RETURN(std::vector<int64_t> slots, ChooseAmong(used));
    if (!broken_.ok() || !HasRoom() || slots.size() < TradeSize()) {
      ++stats_.trades_skipped;
      ++owed_;
      return absl::OkStatus();
    }
    Start(std::move(slots));
    return absl::OkStatus();
  }

  absl::Status Commit() override {
    if (due_ < begun()) ++due_;
    while (!in_flight_.empty() && in_flight_.front().number < due_) {
      const absl::Time due = in_flight_.front().due;
      if (!AwaitArrival(due)) {
        CountLate(in_flight_.front().number);
        return absl::OkStatus();
      }
      GG_RETURN_IF_ERROR(Settle());
    }
    // Room for the next trade, so that whether it begins does not depend on when threads run.
    if (Unacknowledged() < MostUnacknowledged()) return absl::OkStatus();
    absl::Time due;
    {
      MutexLock lock(&link_->mu());
      due = link_->unacknowledged_due();
    }
    if (AwaitAcknowledgement(MostUnacknowledged() - 1, due)) return LeftLost();
    CountLate(begun() - Unacknowledged());
    return absl::OkStatus();
  }

  absl::Status Drain(absl::Time deadline) override {
    for (;;) {
      if (!broken_.ok()) return Annotate(broken_, DescribeOutstanding());
      while (owed_ > 0 && HasRoom()) {
        std::vector<int64_t> slots = ChooseAtHome();
        if (slots.size() < TradeSize()) break;
        Start(std::move(slots));
        --owed_;
      }
      due_ = begun();
      if (!in_flight_.empty()) {
        if (!AwaitArrival(deadline)) return Missed();
        Settle().IgnoreError();  // a failure breaks the ring, see above
      } else if (Unacknowledged() > 0) {
        if (!AwaitAcknowledgement(owed_ > 0 ? MostUnacknowledged() - 1 : 0, deadline)) {
          return Missed();
        }
        LeftLost().IgnoreError();
      } else if (owed_ == 0) {
        return absl::OkStatus();
      }
    }
  }

  TradeStats stats() const override {
    TradeStats stats = stats_;
    if (link_ != nullptr) {
      MutexLock lock(&link_->mu());
      stats.messages_damaged = link_->damaged();
      stats.messages_repeated = link_->repeated();
    }
    return stats;
  }

 private:
  // A trade whose samples from the right neighbour are not in the store yet.
  struct Trade {
    uint64_t number;
    std::vector<int64_t> slots;
    absl::Time due;
  };

  uint64_t begun() const { return stats_.trades_begun; }
  size_t TradeSize() const { return static_cast<size_t>(options_.samples_per_trade); }
  size_t MostUnacknowledged() const { return 2 * static_cast<size_t>(options_.max_in_flight); }
  size_t Unacknowledged() const {
    if (link_ == nullptr) return 0;
    MutexLock lock(&link_->mu());
    return link_->unacknowledged();
  }
  bool HasRoom() const {
    return in_flight_.size() < static_cast<size_t>(options_.max_in_flight) &&
           Unacknowledged() < MostUnacknowledged();
  }

  // The first distinct slots of `used` whose samples are here; fewer than TradeSize() when late
  // trades still hold some.
  absl::StatusOr<std::vector<int64_t>> ChooseAmong(absl::Span<const int64_t> used) {
    ++choice_;
    size_t distinct = 0;
    std::vector<int64_t> slots;
    slots.reserve(TradeSize());
    for (const int64_t slot : used) {
      if (slot < 0 || slot >= store_.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "sample ring: slot ", slot, " is outside the store's 0 .. ", store_.size() - 1));
      }
      uint64_t& seen_in = seen_in_[static_cast<size_t>(slot)];
      if (seen_in == choice_) continue;
      seen_in = choice_;
      ++distinct;
      if (!travelling_[static_cast<size_t>(slot)]) slots.push_back(slot);
      if (slots.size() == TradeSize()) return slots;
    }
    if (distinct < TradeSize()) {
      return absl::InvalidArgumentError(
          absl::StrCat("sample ring: ", distinct, " distinct slots were used, ", TradeSize(),
                       " are traded; trade at most min(batch, smallest shard) samples"));
    }
    return slots;
  }

  // Any slots whose samples are here, going round the store: for trades that are made up for.
  std::vector<int64_t> ChooseAtHome() {
    std::vector<int64_t> slots;
    slots.reserve(TradeSize());
    for (int64_t tried = 0; tried < store_.size() && slots.size() < TradeSize(); ++tried) {
      cursor_ = (cursor_ + 1) % store_.size();
      if (!travelling_[static_cast<size_t>(cursor_)]) slots.push_back(cursor_);
    }
    return slots;
  }

  void Start(std::vector<int64_t> slots) {
    const size_t bytes = TradeMessageBytes(options_.samples_per_trade, store_.shape());
    if (link_ == nullptr) link_ = RingLink::Open(group_, left_, right_, bytes);
    for (const int64_t slot : slots) travelling_[static_cast<size_t>(slot)] = true;
    std::shared_ptr<RingLink::Message> outgoing = link_->Buffer();
    PackSamples(store_, slots, absl::MakeSpan(*outgoing));
    const absl::Time due = clock_.Now() + options_.deadline;
    in_flight_.push_back({stats_.trades_begun++, std::move(slots), due});
    stats_.samples_sent += TradeSize();
    stats_.bytes_sent += bytes;
    metrics_.Add(CounterId::kTradedSamples, static_cast<double>(TradeSize()), "sent");
    link_->Begin(std::move(outgoing), due);
  }

  // Waits until `ready` (with the link's mutex held) or a neighbour has failed; false at
  // `deadline`. From `due` on `ask` is called, less and less often.
  bool Await(absl::FunctionRef<bool()> ready, absl::FunctionRef<void()> ask, absl::Time due,
             absl::Time deadline) {
    const absl::Time begin = clock_.Now();
    bool done = false;
    for (;;) {
      {
        Monitor& monitor = link_->monitor();
        MutexLock lock(&monitor.mu);
        done = clock_.Await(monitor, ready, std::min(deadline, std::max(due, ask_at_)));
      }
      if (done) break;
      const absl::Time now = clock_.Now();
      if (now >= due && now >= ask_at_) {
        ask();
        ask_at_ = now + ask_period_;
        ask_period_ = std::min(2 * ask_period_, 8 * options_.deadline);
      }
      if (now >= deadline) break;
    }
    if (done) ask_period_ = options_.deadline;
    stats_.waited += clock_.Now() - begin;
    return done;
  }

  // The oldest trade in flight: whether it has arrived, or will not.
  bool AwaitArrival(absl::Time deadline) {
    const uint64_t number = in_flight_.front().number;
    return Await(
        [this, number]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          return link_->arrived(number) || !link_->left_failure().ok() ||
                 !link_->right_failure().ok();
        },
        [this, number] { link_->AskAgain(number); }, in_flight_.front().due, deadline);
  }

  // Whether the left neighbour has acknowledged all but `most` trades, or will not.
  bool AwaitAcknowledgement(size_t most, absl::Time deadline) {
    absl::Time due;
    {
      MutexLock lock(&link_->mu());
      due = link_->unacknowledged_due();
    }
    return Await(
        [this, most]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          return link_->unacknowledged() <= most || !link_->left_failure().ok();
        },
        [this] { link_->AskWhatArrived(); }, due, deadline);
  }

  // Ends the oldest trade, which has arrived or will not.
  absl::Status Settle() {
    const uint64_t number = in_flight_.front().number;
    absl::Status left, right;
    {
      MutexLock lock(&link_->mu());
      if (!link_->arrived(number)) {
        left = link_->left_failure();
        right = link_->right_failure();
      }
    }
    if (!left.ok()) return Break(left, number, "to", left_);
    if (!right.ok()) return Break(right, number, "from", right_);
    CommitOldest();
    return absl::OkStatus();
  }

  // The ring is over when the left neighbour is gone before it has acknowledged.
  absl::Status LeftLost() {
    absl::Status left;
    {
      MutexLock lock(&link_->mu());
      if (link_->unacknowledged() > 0) left = link_->left_failure();
    }
    return left.ok() ? left : Break(left, begun() - Unacknowledged(), "to", left_);
  }

  void CommitOldest() {
    const Trade& trade = in_flight_.front();
    UnpackSamples(*link_->Take(trade.number), trade.slots, store_);
    Release(trade);
    in_flight_.pop_front();
    ++stats_.trades_committed;
    stats_.samples_received += TradeSize();
    metrics_.Add(CounterId::kTradedSamples, static_cast<double>(TradeSize()), "received");
  }

  void Release(const Trade& trade) {
    for (const int64_t slot : trade.slots) travelling_[static_cast<size_t>(slot)] = false;
  }

  // From here on the worker keeps its samples: those that have arrived, and else its own.
  absl::Status Break(const absl::Status& why, uint64_t trade, absl::string_view direction,
                     Rank neighbour) {
    broken_ = Annotate(why, absl::StrCat("sample ring: trade ", trade, " ", direction, " ",
                                         DescribePeer(neighbour)));
    // What the left neighbour may lack, or, where the samples stay here, have as well.
    const uint64_t first_doubtful = begun() - Unacknowledged();
    uint64_t in_doubt = Unacknowledged();
    uint64_t given_up = 0;
    while (!in_flight_.empty()) {
      bool arrived = false;
      {
        MutexLock lock(&link_->mu());
        arrived = link_->arrived(in_flight_.front().number);
      }
      if (arrived) {
        CommitOldest();
        continue;
      }
      if (in_flight_.front().number < first_doubtful) ++in_doubt;
      Release(in_flight_.front());
      in_flight_.pop_front();
      ++given_up;
    }
    given_up_ += given_up;
    stats_.trades_skipped += given_up;
    stats_.samples_in_doubt += in_doubt * TradeSize();
    link_->Close();
    return broken_;
  }

  void CountLate(uint64_t number) {
    if (number < counted_late_) return;
    counted_late_ = number + 1;
    ++stats_.trades_late;
    metrics_.Add(CounterId::kTradesLate, 1);
  }

  std::string DescribePeer(Rank rank) const {
    return absl::StrCat("worker ", group_.view().members[static_cast<size_t>(rank)].worker_id,
                        " (rank ", rank, ", ", group_.DescribePeer(rank), ")");
  }

  // What a Drain whose deadline has passed was waiting for.
  absl::Status Missed() {
    const bool arrival = !in_flight_.empty();
    const uint64_t number = arrival ? in_flight_.front().number : begun() - Unacknowledged();
    CountLate(number);
    return absl::DeadlineExceededError(
        absl::StrCat(DescribeOutstanding(), ": trade ", number, " waits for ",
                     DescribePeer(arrival ? right_ : left_),
                     arrival ? " to send its samples" : " to acknowledge ours",
                     "; is that worker alive and still training?"));
  }

  std::string DescribeOutstanding() const {
    return absl::StrCat("sample ring of rank ", group_.self(), ": ", in_flight_.size() + given_up_,
                        " trades were not completed and ", owed_, " not begun, after ",
                        stats_.trades_committed, " completed",
                        stats_.samples_in_doubt == 0
                            ? ""
                            : absl::StrCat("; ", stats_.samples_in_doubt, " samples in doubt"));
  }

  const SampleRingOptions options_;
  ShardStore& store_;
  PeerGroup& group_;
  Clock& clock_;
  MetricSink& metrics_;
  const Rank left_, right_;

  std::shared_ptr<RingLink> link_;            // opened by the first trade
  std::deque<Trade> in_flight_;               // in the order of their numbers
  absl::Time ask_at_ = absl::InfinitePast();  // not before it is a neighbour asked again
  absl::Duration ask_period_;
  std::vector<bool> travelling_;   // by slot: its sample is under way in a trade
  std::vector<uint64_t> seen_in_;  // by slot: the last choice_ that met it
  uint64_t choice_ = 0;
  int64_t cursor_ = -1;        // last slot taken by ChooseAtHome()
  uint64_t due_ = 0;           // trades below this number should have been committed
  uint64_t owed_ = 0;          // Begin() calls that could not begin a trade
  uint64_t given_up_ = 0;      // trades that ended with the ring
  uint64_t counted_late_ = 0;  // trades below this number are not counted as late again
  absl::Status broken_;        // why the ring is over
  TradeStats stats_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SampleRing>> MakeSampleRing(const SampleRingOptions& options,
                                                           ShardStore& store, PeerGroup* group,
                                                           Clock& clock, MetricSink& metrics) {
  if (options.samples_per_trade < 0 || options.max_in_flight < 1 ||
      options.deadline <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sample ring: samples per trade (", options.samples_per_trade,
        ") must not be negative, trades in flight (", options.max_in_flight,
        ") at least 1, the deadline (", absl::FormatDuration(options.deadline), ") above 0"));
  }
  if (group == nullptr || group->view().size() == 1 || options.samples_per_trade == 0) {
    return std::make_unique<NoRing>();
  }
  if (options.samples_per_trade > store.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sample ring: ", options.samples_per_trade, " samples per trade, but rank ", group->self(),
        " owns only ", store.size(), "; trade at most min(batch, smallest shard) samples"));
  }
  return std::make_unique<NeighbourRing>(options, store, *group, clock, metrics);
}

}  // namespace gg
