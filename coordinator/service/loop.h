// SPDX-License-Identifier: Apache-2.0
//
// The one thread that owns ClusterState: input -> Decide -> Append -> Apply -> commands. Everybody
// else posts closures to its queue and gets answers through callbacks, which run on the loop thread
// and must not block. Thread-safety: thread-safe; the callbacks' ClusterState is valid during the
// call only.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_LOOP_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_LOOP_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/service/gauges.h"
#include "coordinator/service/ports.h"
#include "coordinator/state/decide.h"
#include "coordinator/store/job_store.h"
#include "core/clock.h"
#include "core/metrics/sink.h"
#include "core/rng.h"

namespace gg {

struct LoopOptions {
  ClusterOptions cluster;
  std::string coordinator_id;  // new at every start
  uint64_t entropy = 0;        // seeds the job ids; new at every start
  absl::Duration tick = absl::Milliseconds(100);
  absl::Duration watch_interval = absl::Milliseconds(200);  // between two messages to one watcher
  absl::Duration register_timeout = absl::Seconds(10);      // from opening a stream to Register
  absl::Duration probe_interval = absl::Seconds(1);  // between two looks at a store that failed
  size_t queue_max = 20000;                          // closures; more are refused
  size_t streams_max = 4096;                         // worker streams, and as many watchers
  // One line of log; must not block for long.
  std::function<void(bool warning, absl::string_view line)> log = [](bool, absl::string_view) {};
  // Called on the loop thread when readiness changes.
  std::function<void(bool ready)> on_ready = [](bool) {};
};

class CoordinatorLoop {
 public:
  // Answers an input: the decision, and the state after it.
  using Done = absl::AnyInvocable<void(const Decision&, const ClusterState&)>;
  using Query = absl::AnyInvocable<void(const ClusterState&)>;

  // `clock`, `metrics` outlive the loop.
  CoordinatorLoop(LoopOptions options, std::unique_ptr<JobStore> store, Clock* clock,
                  MetricSink* metrics);
  ~CoordinatorLoop();

  // Replays the store, settles what a crash left open, starts the thread. Errors are the store's.
  absl::Status Start();
  // Runs what is queued, tells all streams that the coordinator goes down, joins. Idempotent.
  void Stop();

  // False: stopped or overloaded; the callback will not run.
  bool Post(Input input, Done done = nullptr);
  bool Submit(std::string request_id, JobSpec spec, Done done);
  bool Ask(Query query);

  // A worker's control stream: its session number for the inputs, 0 when refused.
  uint64_t OpenSession(std::shared_ptr<WorkerPort> port);
  void CloseSession(uint64_t session);
  // Shows the job at once and after changes; ends it after a final state. kNotFound is told through
  // the port.
  bool Watch(std::string name, std::shared_ptr<WatchPort> port);

  // OK while the thread goes round.
  absl::Status Live() const;
  // OK when live and the store could be written the last time; else says why not.
  absl::Status Ready() const;
  const LoopOptions& options() const { return options_; }
  absl::Duration Uptime() const { return clock_->Now() - born_; }

 private:
  using Work = absl::AnyInvocable<void(absl::Time now)>;
  struct Item {
    absl::Time arrived;
    Work work;
  };
  struct Session {
    std::shared_ptr<WorkerPort> port;
    absl::Time opened;
    bool registered = false;
  };
  struct Watcher {
    std::shared_ptr<WatchPort> port;
    std::string job_id;
    uint64_t revision = 0;
    absl::Time shown = absl::InfinitePast();
  };

  bool Enqueue(Work work);
  void Run();
  void GoRound(std::deque<Item> items);
  // Steps 1 to 4 of decide.h. A request that cannot be made durable is refused; other events go on
  // in memory and reach the store later, in order.
  Decision Handle(const Input& input, absl::Time now);
  absl::Status Persist(const std::vector<Event>& events, bool is_request);
  void FlushBacklog();
  // Looks from time to time whether a store that failed works again.
  void ProbeStore();
  // One line of log and a change of readiness when the store fails or works again.
  void NoteStore(const absl::Status& status);
  void Carry(const Command& command);
  void ShowWatchers(absl::Time now);
  void DropSilentSessions(absl::Time now);
  void SayGoodbye();
  void SetReady(const absl::Status& ready);
  absl::Time Advance(absl::Time time);

  const LoopOptions options_;
  const std::unique_ptr<JobStore> store_;
  Clock* const clock_;
  MetricSink* const metrics_;
  const absl::Time born_;

  std::atomic<uint64_t> last_session_{0};
  std::atomic<int64_t> last_round_ms_{0};

  Monitor monitor_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(monitor_.mu);
  bool stopping_ ABSL_GUARDED_BY(monitor_.mu) = false;
  bool closed_ ABSL_GUARDED_BY(monitor_.mu) = true;

  mutable Mutex ready_mu_;
  absl::Status ready_ ABSL_GUARDED_BY(ready_mu_);

  // Of the loop thread.
  absl::Status store_ok_;  // as of the last write
  absl::Time next_probe_ = absl::InfinitePast();
  ClusterState state_;
  Gauges gauges_;
  Rng ids_;
  absl::Time now_ = absl::InfinitePast();
  absl::Time last_round_ = absl::InfinitePast();
  std::map<uint64_t, Session> sessions_;
  std::vector<Watcher> watchers_;
  std::vector<Event> backlog_;  // decided, applied, not yet in the store

  std::thread thread_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_LOOP_H_
