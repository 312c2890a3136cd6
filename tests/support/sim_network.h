// SPDX-License-Identifier: Apache-2.0
//
// Links between simulated workers, in virtual time, with faults on demand. Deliberately unkind
// where the contract of PeerGroup allows it: the bytes of a message are read when it ARRIVES, so
// that a sender who changes lent memory is found out.
//
// Thread-safety: as SimClock: for the holder of the baton.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_SIM_NETWORK_H_
#define GOSSIPGRAD_TESTS_SUPPORT_SIM_NETWORK_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "tests/support/sim_clock.h"
#include "worker/transport/transport.h"

namespace gg {

struct SimNetworkOptions {
  uint64_t seed = 1;
  absl::Duration min_delay = absl::Milliseconds(1);
  absl::Duration max_delay = absl::Milliseconds(1);
  double drop_share = 0;                // of the messages, that vanish
  bool rendezvous = false;              // a Send ends only when its Recv is posted
  std::vector<std::string> hosts = {};  // by rank; empty: each has its own
};

// What happens to one message.
struct SimFate {
  enum Kind { kArrives, kVanishes, kIsCorrupt, kArrivesTwice } kind = kArrives;
  absl::Duration extra_delay;
  bool may_overtake = false;  // does not wait for earlier messages of its pair and channel
};

class SimNetwork {
 public:
  SimNetwork(SimClock& clock, int size, SimNetworkOptions options);
  ~SimNetwork();

  std::unique_ptr<PeerGroup> Join(Rank rank);

  // Decides about each message, after the options have; empty: all arrive.
  std::function<SimFate(Rank from, Rank to, const Tag& tag)> fate;

  // Told of each message that leaves, before its fate is decided.
  std::function<void(Rank from, Rank to, const Tag& tag, ConstBytes bytes)> on_send;

  // Told of each Recv that has ended, before its Done.
  std::function<void(Rank to, Rank from, const Tag& tag, const absl::Status& status)> on_recv_end;

  // The worker's process has died: operations with it end with kUnavailable.
  void Kill(Rank rank);
  bool killed(Rank rank) const { return killed_.contains(rank); }
  // The worker's host has lost power: its messages and those to it vanish, nobody is told.
  void Silence(Rank rank) { silent_.insert(rank); }
  // Messages between the two sides are held until Heal().
  void Partition(std::set<Rank> one_side) { one_side_ = std::move(one_side); }
  void Heal();

  uint64_t vanished() const { return vanished_; }
  uint64_t stale() const { return stale_; }
  uint64_t early() const { return early_; }        // arrived before their Recv was posted
  uint64_t repeated() const { return repeated_; }  // second arrivals
  uint64_t overtakings() const { return overtakings_; }

 private:
  class Group;
  struct Message {
    Rank from, to;
    Tag tag;
    ConstBytes bytes;
    Done done;  // empty once run
    SimFate fate;
  };
  using MessagePtr = std::shared_ptr<Message>;
  struct Posted {
    Bytes into;
    Done done;
  };
  struct Stored {
    std::vector<uint8_t> bytes;
    absl::Status status;
    MessagePtr sender;  // whose Done is still due (rendezvous)
  };
  using Key = std::tuple<Rank, Rank, Tag>;  // to, from, tag

  void Send(Rank from, Rank to, Tag tag, ConstBytes bytes, Done done);
  void Recv(Rank self, Rank from, Tag tag, Bytes into, Done done);
  void CancelRecv(Rank self, Rank from, Tag tag);
  void Expire(Rank self, Channel channel, uint64_t step);
  void Leave(Rank rank);

  bool Separated(Rank a, Rank b) const;
  SimFate Decide(Rank from, Rank to, const Tag& tag);
  void Arrive(MessagePtr message);
  void ArriveAgain(const Key& key, std::vector<uint8_t> bytes);
  void Finish(const MessagePtr& message, absl::Status status);
  void Give(const Key& key, Posted posted, const Stored& stored);
  void Ended(const Key& key, const absl::Status& status);
  std::map<Key, Posted>::iterator EndRecv(std::map<Key, Posted>::iterator it,
                                          const absl::Status& status);
  void Later(Done done, absl::Status status);

  SimClock& clock_;
  const SimNetworkOptions options_;
  View view_;
  std::map<Key, Posted> posted_;
  std::map<Key, Stored> stored_;
  std::set<Key> cancelled_;
  std::set<MessagePtr> under_way_;
  std::vector<MessagePtr> held_;  // by the partition, in order
  std::map<std::tuple<Rank, Rank, Channel>, absl::Time> last_arrival_;
  std::map<std::pair<Rank, Channel>, uint64_t> first_live_step_;
  std::set<Rank> killed_, silent_, one_side_;
  uint64_t vanished_ = 0;
  uint64_t stale_ = 0;
  uint64_t early_ = 0, repeated_ = 0, overtakings_ = 0;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_SIM_NETWORK_H_
