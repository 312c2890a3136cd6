// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/sgp.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/push_method.h"
#include "worker/exchange/rounds.h"
#include "worker/exchange/rule.h"

namespace gg {
namespace {

// What sums of weights may be wrong by.
constexpr double kRounding = 1e-9;

class Sgp final : public PushMethod {
 public:
  Sgp(ExchangeContext context, size_t floats, Overlap overlap, WireFormat format,
      std::unique_ptr<PartnerSchedule> schedule)
      : PushMethod(std::move(context), "sgp", floats, /*pool=*/0, format),
        overlapped_(overlap == Overlap::kStep),
        bound_(context_.spec.staleness_bound > 0
                   ? static_cast<uint64_t>(context_.spec.staleness_bound)
                   : 1),
        schedule_(std::move(schedule)),
        rounds_(*context_.group, context_.size, watch_),
        pushed_(static_cast<size_t>(context_.size)),
        came_(pushed_.size()),
        heard_(pushed_.size()) {}

  absl::Status BeginStep(uint64_t step) override {
    closing_ = false;
    GG_RETURN_IF_ERROR(PushMethod::BeginStep(step));
    rounds_.Begin(step);
    watch_.ResetBudget();
    ShowRound(*context_.metrics, *schedule_, context_.spec.rotate, rounds_.now());
    if (overlapped_ && rounds_.now() > bound_) {
      GG_RETURN_IF_ERROR(WaitFor(rounds_.now() - bound_ - 1));
    }
    return TakeIn(overlapped_ ? kAll : rounds_.now());
  }

  absl::Status GradientReady(BlockIndex block) override {
    if (weight_ != 1) GG_RETURN_IF_ERROR(Scale(weight_, context_.arena->weights(block)));
    return PushMethod::GradientReady(block);
  }

  absl::StatusOr<double> AverageReplicas(absl::Time deadline) override {
    closing_ = true;
    GG_RETURN_IF_ERROR(TakeIn(kAll));
    return PushMethod::AverageReplicas(deadline);
  }

  uint64_t rounds_left_out() const override { return rounds_.left_out(); }
  void LeaveOutRounds(uint64_t at_least) override { rounds_.LeaveOut(at_least); }

 protected:
  absl::Status AfterStep() override {
    if (weight_ != 1) GG_RETURN_IF_ERROR(Scale(1 / weight_, context_.arena->weights()));
    GG_RETURN_IF_ERROR(PushHalf());
    if (overlapped_) return absl::OkStatus();
    GG_RETURN_IF_ERROR(WaitFor(rounds_.now()));
    return TakeIn(rounds_.now() + 1);
  }

  absl::StatusOr<double> Close(absl::Time deadline) override {
    GG_RETURN_IF_ERROR(TakeIn(kAll));
    return PushMethod::Close(deadline);
  }

  uint64_t Pace() const override { return rounds_.now(); }
  std::optional<double> Share() const override { return weight_; }

  absl::Status OnArrival(const Mailbox::Arrival& arrival) override {
    rounds_.Heard(arrival.from);
    heard_[arrival.from] = std::max(heard_[arrival.from], arrival.note.step + 1);
    if (arrival.note.kind == kNothing || !Sound(arrival)) return absl::OkStatus();
    if (closing_) return TakeIn(arrival);
    waiting_.push_back(arrival);
    kept_ = true;
    return absl::OkStatus();
  }
  bool Keeps() override { return std::exchange(kept_, false); }

  // What did not leave is ours again.
  void OnFailure(Mailbox::Failure& failure) override {
    pushed_[failure.to] -= failure.note.weight;
    returned_.push_back(std::move(failure));
  }

 private:
  static constexpr uint64_t kAll = ~uint64_t{0};
  // A worker that others do not wait for gets fewer halves than it gives away, and its updates are
  // divided by its weight. Below this it gives nothing away. While nobody is late the weight is
  // never less: 1, or 2/3 with one step of delay.
  static constexpr double kLeastWeight = 0.5;
  enum Kind : uint64_t {
    kShare = kFirstKind,
    kNothing,  // instead of a share that could not be sent: nobody need wait for it
  };

  absl::Status Scale(double factor, Flat values) {
    return context_.device->Axpby(*context_.stream, static_cast<float>(factor), values, 0, values);
  }

  absl::Status PushHalf() {
    const Rank to = schedule_->At(context_.rank, rounds_.now()).send_to;
    // What is pushed to a worker that is away may never be seen again.
    if (to < 0 || !watch_.WorthWaiting(to)) return absl::OkStatus();
    PushNote note{.kind = kNothing, .step = rounds_.now()};
    // Who has done its steps gives nothing back any more.
    if (weight_ < kLeastWeight || HasEnded(to)) {
      mailbox().Push(to, note);
      return absl::OkStatus();
    }
    const absl::Time start = context_.clock->Now();
    const absl::Time until = watch_.WaitUntil(to);
    GG_ASSIGN_OR_RETURN(Flat message, mailbox().Outgoing(to));
    while (message.empty() && mailbox().Await(until).ok()) {
      GG_RETURN_IF_ERROR(Attend());
      GG_ASSIGN_OR_RETURN(message, mailbox().Outgoing(to));
    }
    watch_.Waited(start, stats_);
    GG_RETURN_IF_ERROR(mailbox().aborted());
    pushed_at_ = context_.clock->Now();
    if (message.empty()) {
      watch_.SendHeldBack(to, step_, 0);
      mailbox().Push(to, note);
      return absl::OkStatus();
    }
    GG_RETURN_IF_ERROR(Halve(to, message));
    stats_.mixed += context_.clock->Now() - pushed_at_;
    weight_ /= 2;
    pushed_[to] += weight_;
    note.kind = kShare;
    note.number = std::bit_cast<uint64_t>(pushed_[to]);
    note.weight = weight_;
    Push(to, note, message.size());
    return absl::OkStatus();
  }

  // Waits until the partner's push of `round` is there, or is known not to come.
  absl::Status WaitFor(uint64_t round) {
    const Rank from = schedule_->At(context_.rank, round).recv_from;
    if (from < 0) return absl::OkStatus();
    const absl::Time start = context_.clock->Now();
    const absl::Time until = watch_.WaitUntil(from);
    absl::Status news;
    GG_RETURN_IF_ERROR(Attend());
    while (heard_[from] <= round && news.ok()) {
      news = mailbox().Reachable(from) ? mailbox().Await(until)
                                       : absl::UnavailableError("the connection to it is broken");
      GG_RETURN_IF_ERROR(Attend());
    }
    watch_.Waited(start, stats_);
    GG_RETURN_IF_ERROR(mailbox().aborted());
    if (heard_[from] > round) return absl::OkStatus();
    rounds_.Ask(from, round);
    watch_.Missed(from, step_, 0, news, stats_);
    return absl::OkStatus();
  }

  // Whether the share may be let near the model; what is wrong with it is counted.
  bool Sound(const Mailbox::Arrival& arrival) {
    const PushNote& note = arrival.note;
    // Shares of one peer come in order: what is missing before this one will not come.
    const double sum = std::bit_cast<double>(note.number);
    const double missing = sum - note.weight - came_[arrival.from];
    if (missing > kRounding && missing < context_.size) stand_in_ += missing;
    came_[arrival.from] = sum;
    const bool sane = note.weight > 0 && note.weight < context_.size;
    absl::Status status = arrival.status;
    if (status.ok() &&
        (note.kind != kShare || !sane || arrival.body.size() != context_.arena->size())) {
      status = absl::InvalidArgumentError("a push that is no share of this job");
    }
    // The model of a worker with little weight may be far away, for its updates are those of a whole
    // one; it counts as little. However old: a share that was turned away would only be replaced by
    // our own model.
    const double counts = sane ? std::max(1.0, weight_ / note.weight) : 1;
    if (status.ok() && Acceptable(arrival, context_.arena->weights(), 0, counts)) return true;
    if (!status.ok()) watch_.Missed(arrival.from, note.step, 0, status, stats_);
    if (sane) stand_in_ += note.weight;
    return false;
  }

  // What is of rounds below `end`, in one order at every repetition. Where nobody waits, a partner
  // may be rounds ahead, and all is taken; where a step waits, what is for a later round is kept for
  // it, so that no result depends on who was faster.
  absl::Status TakeIn(uint64_t end) {
    // In place of shares that were lost or refused there is our own model: a sum of weights that
    // shrank would let all later updates grow.
    weight_ += std::exchange(stand_in_, 0);
    for (const Mailbox::Failure& failure : std::exchange(returned_, {})) {
      GG_RETURN_IF_ERROR(
          Add(failure.body->floats().subspan(0, failure.floats), failure.note.weight));
    }
    std::sort(waiting_.begin(), waiting_.end(),
              [](const Mailbox::Arrival& a, const Mailbox::Arrival& b) {
                return std::tie(a.note.step, a.from) < std::tie(b.note.step, b.from);
              });
    size_t taken = 0;
    while (taken < waiting_.size() && waiting_[taken].note.step < end) {
      const absl::Time mixing = context_.clock->Now();
      GG_RETURN_IF_ERROR(TakeIn(waiting_[taken]));
      stats_.mixed += context_.clock->Now() - mixing;
      mailbox().Release(waiting_[taken++]);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(taken));
    return absl::OkStatus();
  }

  absl::Status TakeIn(const Mailbox::Arrival& arrival) {
    if (DistanceDue()) {
      GG_ASSIGN_OR_RETURN(const double squared,
                          context_.device->SquaredDistance(
                              *context_.stream, context_.arena->weights(), arrival.body));
      ReportDistance(squared);
    }
    GG_RETURN_IF_ERROR(Add(arrival.body, arrival.note.weight));
    const uint64_t now = rounds_.now(), round = arrival.note.step;
    const uint64_t staleness = now > round ? now - round : 0;
    const bool in_time = staleness <= (overlapped_ ? bound_ + 1 : 0);
    watch_.Done(arrival.from, pushed_at_, stats_, in_time);
    context_.metrics->Set(GaugeId::kGossipStaleness, static_cast<double>(staleness));
    context_.metrics->Observe(HistogramId::kMessageAge, static_cast<double>(staleness));
    return absl::OkStatus();
  }

  // x <- x + weight z_s, as a mean of the two z.
  absl::Status Add(ConstFlat z, double weight) {
    const double sum = weight_ + weight;
    GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, static_cast<float>(weight / sum), z,
                                              static_cast<float>(weight_ / sum),
                                              context_.arena->weights()));
    weight_ = sum;
    return context_.stream->Synchronize();
  }

  const bool overlapped_;
  const uint64_t bound_;  // rounds
  const std::unique_ptr<PartnerSchedule> schedule_;
  Rounds rounds_;

  double weight_ = 1;  // of this replica in the sum of all
  absl::Time pushed_at_;
  // By rank: the sum of the weights pushed to it, and of those that it has pushed to us.
  std::vector<double> pushed_, came_;
  std::vector<uint64_t> heard_;             // by rank: 1 + the latest round of its pushes
  std::vector<Mailbox::Arrival> waiting_;   // shares to be taken in
  std::vector<Mailbox::Failure> returned_;  // pushes to be taken back
  double stand_in_ = 0;                     // weight of shares that have been lost
  bool kept_ = false;                       // the last arrival lies in waiting_
  bool closing_ = false;                    // what comes is taken in at once
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExchangeStrategy>> MakeSgp(
    ExchangeContext context, Overlap overlap, std::unique_ptr<PartnerSchedule> schedule) {
  GG_ASSIGN_OR_RETURN(const WireFormat format, ParseEncoding(context.spec, context.seed));
  const size_t floats = context.arena->size();
  return std::make_unique<Sgp>(std::move(context), floats, overlap, format, std::move(schedule));
}

}  // namespace gg
