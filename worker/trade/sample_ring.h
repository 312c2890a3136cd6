// SPDX-License-Identifier: Apache-2.0
//
// The sample ring: each worker hands the samples it has just used to rank - 1 and takes as many
// from rank + 1, while the network computes. The k-th trade of a worker is matched with the k-th of
// its neighbours by number, whatever steps they are at; every trade moves the same number of
// samples everywhere, so shards keep their sizes.
//
// Exactly once: a slot is overwritten only when the replacements have arrived whole, and what was
// sent is kept until the left neighbour has acknowledged it. A message that is damaged, lost or
// late is asked for again and taken once (ring_link.h), so over all stores and unacknowledged
// trades the multiset of samples is that of the beginning, whatever happens to messages. After a
// Drain() that returned OK on every rank the stores alone hold it.
// When a neighbour is gone for good nobody can know what it took with it. What has arrived is then
// put in place and every other slot keeps its own sample: at least once, rather than at most.
// TradeStats::samples_in_doubt counts those that another worker may hold as well, or nobody.
// Source: the authors' "shufgrad" (direction and unit).
// Thread-safety: thread-compatible; owned by the training thread.
#ifndef GOSSIPGRAD_WORKER_TRADE_SAMPLE_RING_H_
#define GOSSIPGRAD_WORKER_TRADE_SAMPLE_RING_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "worker/data/batch_source.h"
#include "worker/transport/transport.h"

namespace gg {

struct SampleRingOptions {
  int64_t samples_per_trade = 0;  // equal on all ranks: min(batch_size, total / size)
  absl::Duration deadline = absl::Seconds(5);
  int max_in_flight = 4;  // trades begun and not committed; no new one begins beyond that
};

struct TradeStats {
  uint64_t trades_begun = 0, trades_committed = 0, trades_late = 0, trades_skipped = 0;
  uint64_t samples_sent = 0, samples_received = 0, bytes_sent = 0;  // repetitions not included
  uint64_t messages_damaged = 0;                                    // received, and asked for again
  uint64_t messages_repeated = 0;                                   // sent again, as asked for
  uint64_t samples_in_doubt = 0;  // held twice or by nobody, since a neighbour is gone
  absl::Duration waited;
};

class SampleRing {
 public:
  virtual ~SampleRing() = default;
  // Copies the first samples_per_trade distinct slots of `used` out and starts their way. Does not
  // block. When late trades leave no room, or hold these slots, the trade is skipped for now and
  // made up for by Drain(). kInvalidArgument: slots that do not exist, or too few.
  virtual absl::Status Begin(absl::Span<const int64_t> used) = 0;
  // Waits (deadline) for the oldest trade in flight and puts its samples into the slots they
  // replace; a late one is asked for again and stays in flight, OK is returned, and a later call
  // commits it without waiting for it again (the deadline counts from its Begin). Also waits, to
  // the same deadline, where the left neighbour has acknowledged nothing of the last
  // 2 max_in_flight trades. Call while nobody reads the store.
  // kUnavailable (or what the transport says), once, naming the worker: a neighbour is gone. Not
  // fatal: from then on the worker keeps its samples, and Begin and Commit do nothing.
  virtual absl::Status Commit() = 0;
  // Commits everything in flight, makes up for skipped trades, and waits until the left neighbour
  // has all of ours: the end of an epoch or of the run, or a view change. Every rank must have
  // called Begin() equally often, or come to. kDeadlineExceeded names the worker that is missing
  // and says what is outstanding (it stays in flight); kUnavailable: the ring is over.
  virtual absl::Status Drain(absl::Time deadline) = 0;
  virtual TradeStats stats() const = 0;
};

// A ring of one worker does nothing. The arguments must outlive the ring; `group` may be null for
// size 1.
absl::StatusOr<std::unique_ptr<SampleRing>> MakeSampleRing(const SampleRingOptions& options,
                                                           ShardStore& store, PeerGroup* group,
                                                           Clock& clock, MetricSink& metrics);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRADE_SAMPLE_RING_H_
