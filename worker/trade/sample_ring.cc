// SPDX-License-Identifier: Apache-2.0
#include "worker/trade/sample_ring.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
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
        travelling_(static_cast<size_t>(store.size())),
        seen_in_(static_cast<size_t>(store.size())) {}

  ~NeighbourRing() override {
    CancelReceives();
    // Cancelled receives end soon; a send may hang on a neighbour that takes nothing. Neither is
    // needed for safety: what is lent lives as long as its callback.
    MutexLock lock(&monitor_->mu);
    clock_.Await(
        *monitor_,
        [this] {
          const auto received = [](const std::shared_ptr<Trade>& t) {
            return t->outcome().received.has_value();
          };
          return std::all_of(in_flight_.begin(), in_flight_.end(), received) &&
                 std::all_of(abandoned_.begin(), abandoned_.end(), received);
        },
        clock_.Now() + options_.deadline);
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
    while (!in_flight_.empty() && in_flight_.front()->number() < due_) {
      const Trade& oldest = *in_flight_.front();
      if (!AwaitDecision(oldest, oldest.due())) {
        CountLate(oldest.number());
        return absl::OkStatus();
      }
      GG_RETURN_IF_ERROR(Settle());
    }
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
      if (in_flight_.empty()) return absl::OkStatus();
      const Trade& oldest = *in_flight_.front();
      if (!AwaitDecision(oldest, deadline)) {
        CountLate(oldest.number());
        return absl::DeadlineExceededError(
            absl::StrCat(DescribeOutstanding(), ": trade ", oldest.number(), " waits for ",
                         DescribeMissing(oldest), "; is that worker alive and still training?"));
      }
      const absl::Status settled = Settle();
      if (!settled.ok() && broken_.ok()) return settled;
    }
  }

  TradeStats stats() const override { return stats_; }

 private:
  uint64_t begun() const { return stats_.trades_begun; }
  size_t TradeSize() const { return static_cast<size_t>(options_.samples_per_trade); }
  bool HasRoom() const { return in_flight_.size() < static_cast<size_t>(options_.max_in_flight); }

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
    std::shared_ptr<Trade> trade;
    if (spare_.empty()) {
      trade = std::make_shared<Trade>(monitor_, options_.samples_per_trade, store_.shape());
    } else {
      trade = std::move(spare_.back());
      spare_.pop_back();
    }
    for (const int64_t slot : slots) travelling_[static_cast<size_t>(slot)] = true;
    in_flight_.push_back(trade);
    const uint64_t number = stats_.trades_begun++;
    stats_.samples_sent += TradeSize();
    stats_.bytes_sent += trade->message_bytes();
    metrics_.Add(CounterId::kTradedSamples, static_cast<double>(TradeSize()), "sent");
    trade->Start(number, std::move(slots), store_, group_, left_, right_,
                 clock_.Now() + options_.deadline);
  }

  // Whether both directions of `trade` are over, or one has failed.
  bool AwaitDecision(const Trade& trade, absl::Time deadline) {
    const absl::Time begin = clock_.Now();
    bool decided = false;
    {
      MutexLock lock(&monitor_->mu);
      decided = clock_.Await(
          *monitor_, [&trade] { return trade.over() || !FailureOf(trade.outcome()).ok(); },
          deadline);
    }
    stats_.waited += clock_.Now() - begin;
    return decided;
  }

  static absl::Status FailureOf(const Trade::Outcome& outcome) {
    if (outcome.sent.has_value() && !outcome.sent->ok()) return *outcome.sent;
    if (outcome.received.has_value()) return *outcome.received;
    return absl::OkStatus();
  }

  // Ends the oldest trade, which is decided. Its slots take the new samples, or keep their own when
  // it has failed.
  absl::Status Settle() {
    const std::shared_ptr<Trade> trade = in_flight_.front();
    Trade::Outcome outcome;
    bool over = false;
    {
      MutexLock lock(&monitor_->mu);
      outcome = trade->outcome();
      over = trade->over();
    }
    if (const absl::Status failure = FailureOf(outcome); !failure.ok()) {
      const bool sending = outcome.sent.has_value() && !outcome.sent->ok();
      const absl::Status named = Annotate(
          failure, absl::StrCat("sample ring: trade ", trade->number(), sending ? " to " : " from ",
                                DescribePeer(sending ? left_ : right_)));
      // A damaged message costs its trade; without a neighbour the ring is over.
      if (failure.code() != absl::StatusCode::kDataLoss) return Break(named);
      Release(*trade);
      in_flight_.pop_front();
      if (!over) abandoned_.push_back(trade);
      ++stats_.trades_skipped;
      return named;
    }
    trade->PutInto(store_);
    Release(*trade);
    in_flight_.pop_front();
    spare_.push_back(trade);
    ++stats_.trades_committed;
    stats_.samples_received += TradeSize();
    metrics_.Add(CounterId::kTradedSamples, static_cast<double>(TradeSize()), "received");
    return absl::OkStatus();
  }

  void Release(const Trade& trade) {
    for (const int64_t slot : trade.slots()) travelling_[static_cast<size_t>(slot)] = false;
  }

  // From here on the worker keeps its samples.
  absl::Status Break(const absl::Status& why) {
    broken_ = why;
    CancelReceives();
    for (std::shared_ptr<Trade>& trade : in_flight_) {
      Release(*trade);
      abandoned_.push_back(std::move(trade));
    }
    stats_.trades_skipped += in_flight_.size();
    in_flight_.clear();
    return why;
  }

  void CancelReceives() {
    for (const std::shared_ptr<Trade>& trade : in_flight_) {
      group_.CancelRecv(right_, trade->tag());
    }
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

  std::string DescribeMissing(const Trade& trade) const {
    Trade::Outcome outcome;
    {
      MutexLock lock(&monitor_->mu);
      outcome = trade.outcome();
    }
    std::string text;
    if (!outcome.received.has_value()) {
      absl::StrAppend(&text, DescribePeer(right_), " to send its samples");
    }
    if (!outcome.sent.has_value()) {
      absl::StrAppend(&text, text.empty() ? "" : " and for ", DescribePeer(left_), " to take ours");
    }
    return text;
  }

  std::string DescribeOutstanding() const {
    return absl::StrCat("sample ring of rank ", group_.self(), ": ",
                        in_flight_.size() + abandoned_.size(), " trades were not completed and ",
                        owed_, " not begun, after ", stats_.trades_committed, " completed");
  }

  const SampleRingOptions options_;
  ShardStore& store_;
  PeerGroup& group_;
  Clock& clock_;
  MetricSink& metrics_;
  const Rank left_, right_;

  const std::shared_ptr<Monitor> monitor_ = std::make_shared<Monitor>();
  std::deque<std::shared_ptr<Trade>> in_flight_;   // in the order of their numbers
  std::vector<std::shared_ptr<Trade>> spare_;      // over, their buffers free for the next
  std::vector<std::shared_ptr<Trade>> abandoned_;  // given up; a Done may still be due
  std::vector<bool> travelling_;                   // by slot: its sample is under way in a trade
  std::vector<uint64_t> seen_in_;                  // by slot: the last choice_ that met it
  uint64_t choice_ = 0;
  int64_t cursor_ = -1;        // last slot taken by ChooseAtHome()
  uint64_t due_ = 0;           // trades below this number should have been committed
  uint64_t owed_ = 0;          // Begin() calls that could not begin a trade
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
