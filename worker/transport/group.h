// SPDX-License-Identifier: Apache-2.0
//
// What every transport's PeerGroup has in common: checks, bookkeeping of operations, the receiving
// side, the order in which a group ends. A transport adds a Wire, which moves bytes on the loop's
// thread, and keeps a GroupTable, which tells to which of its groups an arriving message belongs.
//
// Thread-safety: Group as PeerGroup says; GroupState, Wire and GroupTable on the loop's thread
// only.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GROUP_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GROUP_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "worker/transport/counters.h"
#include "worker/transport/loop.h"
#include "worker/transport/tag_matcher.h"
#include "worker/transport/transport.h"

namespace gg {

// One open view as the wire sees it.
struct GroupState {
  GroupState(absl::string_view job, const View& the_view, Rank own,
             const TransportOptions& options);
  std::string PeerName(Rank peer) const;  // "rank 2 (worker-c)"

  const std::string job_id;
  const View view;
  const Rank self;
  TrafficCounters counters;
  std::vector<std::unique_ptr<TagMatcher>> from;  // by rank; null for self
};

struct OutgoingMessage {
  Tag tag;
  ConstBytes bytes;
  Done done;  // exactly once, on the loop's thread, when `bytes` is free again
};

class Wire {
 public:
  virtual ~Wire() = default;
  // The group takes part from here on.
  virtual void Open() = 0;
  virtual void Send(Rank to, OutgoingMessage message) = 0;
  // The matcher of `from` has changed: a message that it had no room for may fit now.
  virtual void Resume(Rank from) = 0;
  // Ends all Sends with kCancelled and detaches from the group; `closed` runs when nothing of it
  // will be touched again.
  virtual void Close(Loop::Task closed) = 0;
  virtual std::string Describe(Rank peer) const = 0;
};

class Group final : public PeerGroup {
 public:
  // `loop` outlives the group. `wire` was made with `state`.
  Group(Loop* loop, std::unique_ptr<GroupState> state, std::unique_ptr<Wire> wire);
  ~Group() override;

  const View& view() const override { return state_->view; }
  Rank self() const override { return state_->self; }
  void Send(Rank to, Tag tag, ConstBytes from, Done done) override;
  void Recv(Rank from, Tag tag, Bytes into, Done done) override;
  void CancelRecv(Rank from, Tag tag) override;
  void Expire(Channel channel, uint64_t step) override;
  PeerStats stats() const override { return state_->counters.Read(); }
  std::string DescribePeer(Rank peer) const override;

 private:
  absl::Status CheckPeer(Rank peer, absl::string_view operation, Tag tag) const;
  // Begins one operation; what it returns runs `done`, destroys it, and then counts the operation
  // as over.
  Done BeginOperation(Done done);
  void Run(Loop::Task task);  // a task that counts as an operation
  void DoSend(Rank to, Tag tag, ConstBytes from, Done done);

  Loop* const loop_;
  const std::unique_ptr<GroupState> state_;
  const std::unique_ptr<Wire> wire_;
  std::vector<std::set<Tag>> sending_;  // loop's thread: tags of the Sends under way, by rank
  bool closing_ = false;                // loop's thread
  Monitor monitor_;
  uint64_t operations_ ABSL_GUARDED_BY(monitor_.mu) = 0;  // begun and not over
};

// The groups of one transport.
class GroupTable {
 public:
  enum class Verdict {
    kOpen,
    kNotYet,  // a view newer than any seen of this job: this end may be about to join it
    kGone,    // one that was left, or passed over
  };
  Verdict Find(absl::string_view job_id, uint64_t view, GroupState** group) const;
  bool Contains(absl::string_view job_id, uint64_t view) const;
  void Add(GroupState* group);
  void Remove(GroupState* group);
  // A message or stream for `job_id` was turned away: counted by the youngest group of that job,
  // else the youngest.
  void CountStale(absl::string_view job_id);

 private:
  std::vector<GroupState*> open_;  // in the order of joining
  std::map<std::string, uint64_t, std::less<>> newest_view_;
};

absl::Status AlreadyJoined(absl::string_view job_id, const View& view);
// What Join() checks on every transport.
absl::Status CheckJoin(const View& view, Rank self, absl::string_view local_address);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GROUP_H_
