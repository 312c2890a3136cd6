// SPDX-License-Identifier: Apache-2.0
//
// One collective under way. It is carried on by the transport's completions, without a thread of its
// own and without the caller: Start it, compute something else, Await it.
//
// The vector and the landing places belong to the run and live until the transport has let go of the
// last byte, also when the run failed or nobody waits for it any more.
//
// With an encoding (worker/wire) what a rank sends is also what it goes on with, so that all ranks end
// with the same bits: values are rounded each time that they are sent, added in fp32, and copied as
// they are. docs/algorithms/encodings.md.
//
// Thread-safety: thread-safe. What values() points to belongs to the run until Await has said OK.
#ifndef GOSSIPGRAD_WORKER_COLLECTIVE_RUN_H_
#define GOSSIPGRAD_WORKER_COLLECTIVE_RUN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "kernels/device.h"
#include "worker/collective/program.h"
#include "worker/transport/transport.h"
#include "worker/wire/float_link.h"

namespace gg {

// The memory of one collective at a time; made once, used again and again.
struct CollectiveMemory {
  std::unique_ptr<Buffer> values;  // program.count floats
  std::unique_ptr<Buffer> landing;
  std::unique_ptr<Stream> stream;  // of the additions
};

// kResourceExhausted: no memory.
absl::StatusOr<CollectiveMemory> AllocateCollective(Device& device,
                                                    const CollectiveProgram& program);

class CollectiveRun : public std::enable_shared_from_this<CollectiveRun> {
 public:
  // `number` names this collective in its tags: equal at all ranks, never used twice in a group.
  // `device`, the link's group and `clock` must outlive the group's operations. The program's grain is
  // a multiple of BlockValues of the link's encoding.
  static std::shared_ptr<CollectiveRun> Start(Device& device, std::shared_ptr<FloatLink> link,
                                              Clock& clock,
                                              std::shared_ptr<const CollectiveProgram> program,
                                              uint64_t number, CollectiveMemory memory);

  // OK: complete. kDeadlineExceeded or kUnavailable: failed, and says at whom; the status of Abort.
  // A failure is final: what is under way is given up, and later calls say the same.
  absl::Status Await(absl::Time deadline);
  // True when Await would return at once.
  bool finished() const;
  // The rank that a failure points at, -1 without one.
  Rank missing() const;

  Flat values() { return memory_.values->floats().subspan(0, program_->count); }
  // After a successful Await: takes the memory back for the next collective.
  CollectiveMemory TakeMemory() { return std::move(memory_); }

  void Abort(absl::Status why);

 private:
  enum class State : uint8_t { kWaiting, kPosted, kArrived, kDone };

  CollectiveRun(Device& device, std::shared_ptr<FloatLink> link, Clock& clock,
                std::shared_ptr<const CollectiveProgram> program, uint64_t number,
                CollectiveMemory memory);

  Tag TagOf(const CollectivePiece& piece) const;
  Flat ValuesOf(const Range& range);
  Flat LandingOf(int piece);
  std::string Name(Rank rank) const;

  // Starts everything that may start. One thread at a time works; others leave it their news.
  void Drain();
  void Post(int piece);
  void Add(int piece);
  // Equal values at several ranks have to be rounded alike.
  FloatLink::Draw DrawOf() const;
  void Finish(int piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  void Completed(int piece, absl::Status status);
  void Fail(absl::Status why, Rank missing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  void CancelPosted();
  bool HasCome(size_t piece) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  Rank Suspect(size_t missing_piece) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);
  absl::Status Missing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu);

  Device& device_;
  const std::shared_ptr<FloatLink> link_;
  Clock& clock_;
  const std::shared_ptr<const CollectiveProgram> program_;
  const uint64_t number_;
  CollectiveMemory memory_;

  mutable Monitor monitor_;
  std::vector<State> states_ ABSL_GUARDED_BY(monitor_.mu);
  std::vector<int> waits_for_ ABSL_GUARDED_BY(monitor_.mu);
  std::vector<int> ready_ ABSL_GUARDED_BY(monitor_.mu);    // may touch the vector
  std::vector<int> landing_ ABSL_GUARDED_BY(monitor_.mu);  // slot of a piece, -1: none
  std::vector<int> free_slots_ ABSL_GUARDED_BY(monitor_.mu);
  size_t next_add_ ABSL_GUARDED_BY(monitor_.mu) = 0;  // the next kAdd that wants a slot
  size_t left_ ABSL_GUARDED_BY(monitor_.mu);
  bool draining_ ABSL_GUARDED_BY(monitor_.mu) = false;
  bool failed_ ABSL_GUARDED_BY(monitor_.mu) = false;
  absl::Status status_ ABSL_GUARDED_BY(monitor_.mu);
  Rank missing_ ABSL_GUARDED_BY(monitor_.mu) = -1;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_COLLECTIVE_RUN_H_
