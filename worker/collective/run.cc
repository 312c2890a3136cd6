// SPDX-License-Identifier: Apache-2.0
#include "worker/collective/run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

// Pieces that may wait to be added: the next ones arrive while one is added.
constexpr size_t kLandingSlots = 4;

absl::Status Gone(absl::StatusCode code, const std::string& text) {
  if (code == absl::StatusCode::kDeadlineExceeded) return absl::DeadlineExceededError(text);
  return absl::UnavailableError(text);
}

}  // namespace

absl::StatusOr<CollectiveMemory> AllocateCollective(Device& device,
                                                    const CollectiveProgram& program) {
  CollectiveMemory memory;
  GG_ASSIGN_OR_RETURN(memory.values,
                      device.Allocate(std::max<size_t>(program.count, 1) * sizeof(float)));
  GG_ASSIGN_OR_RETURN(memory.landing, device.Allocate(std::max<size_t>(program.longest_piece, 1) *
                                                      kLandingSlots * sizeof(float)));
  GG_ASSIGN_OR_RETURN(memory.stream, device.MakeStream());
  return memory;
}

CollectiveRun::CollectiveRun(Device& device, std::shared_ptr<FloatLink> link, Clock& clock,
                             std::shared_ptr<const CollectiveProgram> program, uint64_t number,
                             CollectiveMemory memory)
    : device_(device),
      link_(std::move(link)),
      clock_(clock),
      program_(std::move(program)),
      number_(number),
      memory_(std::move(memory)),
      states_(program_->pieces.size(), State::kWaiting),
      landing_(program_->pieces.size(), -1),
      left_(program_->pieces.size()) {
  for (size_t i = 0; i < program_->pieces.size(); ++i) {
    const CollectivePiece& piece = program_->pieces[i];
    waits_for_.push_back(piece.waits_for);
    if (piece.waits_for == 0 && piece.kind != CollectivePiece::kAdd) {
      ready_.push_back(static_cast<int>(i));
    }
  }
  // The first piece is taken from the end.
  std::reverse(ready_.begin(), ready_.end());
  for (size_t slot = 0; slot < kLandingSlots; ++slot) {
    free_slots_.push_back(static_cast<int>(slot));
  }
}

std::shared_ptr<CollectiveRun> CollectiveRun::Start(
    Device& device, std::shared_ptr<FloatLink> link, Clock& clock,
    std::shared_ptr<const CollectiveProgram> program, uint64_t number, CollectiveMemory memory) {
  std::shared_ptr<CollectiveRun> run(new CollectiveRun(
      device, std::move(link), clock, std::move(program), number, std::move(memory)));
  run->Drain();
  return run;
}

Tag CollectiveRun::TagOf(const CollectivePiece& piece) const {
  return {Channel::kCollective, number_, piece.block};
}

Flat CollectiveRun::ValuesOf(const Range& range) {
  return memory_.values->floats().subspan(range.begin, range.size());
}

FloatLink::Draw CollectiveRun::DrawOf() const {
  return program_->algorithm == CollectiveAlgorithm::kRecursiveDoubling ? FloatLink::Draw::kCommon
                                                                        : FloatLink::Draw::kOwn;
}

Flat CollectiveRun::LandingOf(int piece) {
  int slot;
  {
    MutexLock lock(&monitor_.mu);
    slot = landing_[piece];
  }
  return memory_.landing->floats().subspan(slot * program_->longest_piece,
                                           program_->pieces[piece].range.size());
}

void CollectiveRun::Drain() {
  for (bool mine = false;; mine = true) {
    int post = -1, add = -1;
    {
      MutexLock lock(&monitor_.mu);
      if (!mine && std::exchange(draining_, true)) return;
      const std::vector<CollectivePiece>& pieces = program_->pieces;
      while (next_add_ < pieces.size() && pieces[next_add_].kind != CollectivePiece::kAdd) {
        ++next_add_;
      }
      if (failed_) {
        draining_ = false;
        return;
      }
      if (next_add_ < pieces.size() && !free_slots_.empty()) {
        post = static_cast<int>(next_add_++);
        landing_[post] = free_slots_.back();
        free_slots_.pop_back();
      } else if (!ready_.empty()) {
        const int piece = ready_.back();
        ready_.pop_back();
        (pieces[piece].kind == CollectivePiece::kAdd ? add : post) = piece;
      } else {
        draining_ = false;
        return;
      }
      if (post >= 0) states_[post] = State::kPosted;
    }
    if (post >= 0) Post(post);
    if (add >= 0) Add(add);
  }
}

void CollectiveRun::Post(int index) {
  const CollectivePiece& piece = program_->pieces[index];
  auto done = [self = shared_from_this(), index](absl::Status status) {
    self->Completed(index, std::move(status));
  };
  switch (piece.kind) {
    case CollectivePiece::kSend:
      return link_->SendRounded(piece.peer, TagOf(piece), ValuesOf(piece.range), DrawOf(),
                                std::move(done));
    case CollectivePiece::kStore:
      return link_->Recv(piece.peer, TagOf(piece), ValuesOf(piece.range), std::move(done));
    case CollectivePiece::kAdd:
      return link_->Recv(piece.peer, TagOf(piece), LandingOf(index), std::move(done));
  }
}

void CollectiveRun::Add(int index) {
  const CollectivePiece& piece = program_->pieces[index];
  const Flat values = ValuesOf(piece.range);
  absl::Status status = device_.Axpby(*memory_.stream, 1, LandingOf(index), 1, values);
  if (status.ok()) status = memory_.stream->Synchronize();
  if (status.ok() && piece.completes) {
    // What is handed on in the next phase is rounded; so everybody rounds, and draws alike.
    Tag drawn = TagOf(piece);
    drawn.block += kPiecesPerPhase;
    link_->Round(drawn, values, FloatLink::Draw::kCommon);
  }
  bool cancel = false;
  {
    MutexLock lock(&monitor_.mu);
    if (!status.ok()) {
      Fail(Annotate(status, "adding what arrived"), -1);
      cancel = true;
    } else {
      free_slots_.push_back(std::exchange(landing_[index], -1));
      Finish(index);
    }
  }
  if (cancel) CancelPosted();
}

void CollectiveRun::Finish(int index) {
  states_[index] = State::kDone;
  for (const int freed : program_->pieces[index].frees) {
    if (--waits_for_[freed] > 0) continue;
    const bool add = program_->pieces[freed].kind == CollectivePiece::kAdd;
    if (!add || states_[freed] == State::kArrived) ready_.push_back(freed);
  }
  if (--left_ == 0) monitor_.changed.NotifyAll();
}

void CollectiveRun::Completed(int index, absl::Status status) {
  const CollectivePiece& piece = program_->pieces[index];
  bool cancel = false;
  {
    MutexLock lock(&monitor_.mu);
    states_[index] = State::kDone;
    if (failed_) return;
    if (!status.ok()) {
      const bool sent = piece.kind == CollectivePiece::kSend;
      Fail(Gone(status.code(), absl::StrCat(sent ? "sending to " : "receiving from ",
                                            Name(piece.peer), ": ", status.message())),
           piece.peer);
      cancel = true;
    } else if (piece.kind == CollectivePiece::kAdd) {
      states_[index] = State::kArrived;
      if (waits_for_[index] == 0) ready_.push_back(index);
    } else {
      Finish(index);
    }
  }
  if (cancel) return CancelPosted();
  Drain();
}

absl::Status CollectiveRun::Await(absl::Time deadline) {
  {
    MutexLock lock(&monitor_.mu);
    const bool over = clock_.Await(
        monitor_,
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return failed_ || left_ == 0; },
        deadline);
    if (over) return status_;
    const absl::Status missing = Missing();
    Fail(missing, missing_);
  }
  CancelPosted();
  MutexLock lock(&monitor_.mu);
  return status_;
}

Rank CollectiveRun::Suspect(size_t missing_piece) const {
  const CollectiveProgram& p = *program_;
  const auto behind = [&p](const CollectivePiece& piece) {
    return RanksBehind(p.op, p.algorithm, p.size, p.rank, (p.count + p.grain - 1) / p.grain,
                       piece.block / kPiecesPerPhase);
  };
  const CollectivePiece& piece = p.pieces[missing_piece];
  std::vector<bool> suspects = behind(piece);
  // Whoever stands behind something that has come is there.
  for (size_t i = 0; i < missing_piece; ++i) {
    if (p.pieces[i].kind == CollectivePiece::kSend || !HasCome(i)) continue;
    const std::vector<bool> there = behind(p.pieces[i]);
    for (Rank r = 0; r < p.size; ++r) suspects[r] = suspects[r] && !there[r];
  }
  if (suspects[piece.peer]) return piece.peer;
  for (Rank r = 0; r < p.size; ++r) {
    if (suspects[r] && r != p.rank) return r;
  }
  return piece.peer;
}

bool CollectiveRun::HasCome(size_t piece) const {
  return states_[piece] == State::kDone || states_[piece] == State::kArrived;
}

// Whom the first piece that has not come points at.
absl::Status CollectiveRun::Missing() {
  const std::vector<CollectivePiece>& pieces = program_->pieces;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const CollectivePiece& piece = pieces[i];
    if (piece.kind == CollectivePiece::kSend || HasCome(i)) continue;
    missing_ = Suspect(i);
    std::string text = absl::StrCat("nothing from ", Name(piece.peer), " in phase ",
                                    piece.block / kPiecesPerPhase + 1);
    if (missing_ != piece.peer) {
      absl::StrAppend(&text, "; going by what has come, ", Name(missing_), " is missing");
    }
    return absl::DeadlineExceededError(text);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (states_[i] == State::kDone) continue;
    missing_ = pieces[i].peer;
    return absl::DeadlineExceededError(absl::StrCat(Name(missing_),
                                                    " had not taken its message in phase ",
                                                    pieces[i].block / kPiecesPerPhase + 1));
  }
  return absl::DeadlineExceededError("the additions were not done in time");
}

bool CollectiveRun::finished() const {
  MutexLock lock(&monitor_.mu);
  return failed_ || left_ == 0;
}

Rank CollectiveRun::missing() const {
  MutexLock lock(&monitor_.mu);
  return missing_;
}

void CollectiveRun::Abort(absl::Status why) {
  {
    MutexLock lock(&monitor_.mu);
    if (failed_ || left_ == 0 || why.ok()) return;
    Fail(std::move(why), -1);
  }
  CancelPosted();
}

void CollectiveRun::Fail(absl::Status why, Rank missing) {
  failed_ = true;
  status_ = std::move(why);
  missing_ = missing;
  monitor_.changed.NotifyAll();
}

void CollectiveRun::CancelPosted() {
  std::vector<int> posted;
  {
    MutexLock lock(&monitor_.mu);
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_[i] == State::kPosted) posted.push_back(static_cast<int>(i));
    }
  }
  for (const int index : posted) {
    const CollectivePiece& piece = program_->pieces[index];
    if (piece.kind != CollectivePiece::kSend) link_->CancelRecv(piece.peer, TagOf(piece));
  }
}

std::string CollectiveRun::Name(Rank rank) const {
  return absl::StrCat("rank ", rank, " (", link_->group().view().members[rank].worker_id, ")");
}

}  // namespace gg
