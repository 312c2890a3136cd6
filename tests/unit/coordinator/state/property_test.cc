// SPDX-License-Identifier: Apache-2.0
//
// Whatever happens in whatever order, some things always hold.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/state/decide.h"
#include "core/rng.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

class RandomCluster {
 public:
  explicit RandomCluster(uint64_t seed) : rng_(seed, "coordinator-property") {
    state_.options.finished_max = 5;
    state_.options.notes_max = 10;
    state_.options.live_max = 8;
    empty_ = state_;
  }

  void Step() {
    now_ += absl::Milliseconds(rng_.Below(400));
    Feed(RandomInput());
    for (int i = 0; Feed(input::Tick{absl::Milliseconds(rng_.Below(2000))}); ++i) {
      ASSERT_LT(i, 200) << "the ticks do not end";
    }
    Check();
  }

  // The volatile part is gone, the durable part is there.
  void Restart() {
    ClusterState again = empty_;
    for (const Event& event : events_) {
      if (IsDurable(event)) Apply(event, &again);
    }
    ASSERT_EQ(again.last_view, state_.last_view);
    ASSERT_EQ(again.jobs.size(), state_.jobs.size());
    for (const auto& [number, job] : state_.jobs) {
      const Job& restored = again.jobs.at(number);
      ASSERT_EQ(restored.id, job.id);
      ASSERT_EQ(restored.spec, job.spec);
      ASSERT_EQ(restored.state, job.state);
      ASSERT_EQ(restored.result, job.result);
      ASSERT_EQ(restored.view, job.view);
      ASSERT_EQ(restored.finished, job.finished);
      if (IsFinal(job.state)) {
        ASSERT_TRUE(restored == job) << "the end of " << job.id << " does not carry all it shows";
      }
    }
    ASSERT_EQ(again.request_job, state_.request_job);
  }

  void ReplayAll() {
    ClusterState again = empty_;
    for (const Event& event : events_) Apply(event, &again);
    ASSERT_TRUE(again == state_) << "the events do not give the state";
  }

  int ended() const { return static_cast<int>(final_.size()); }
  int succeeded() const { return succeeded_; }

 private:
  bool Feed(const Input& input) {
    const Decision decision = Decide(state_, input, now_);
    for (const Event& event : decision.events) {
      events_.push_back(event);
      Apply(event, &state_);
    }
    for (const Command& command : decision.commands) {
      if (const auto* assign = std::get_if<command::Assign>(&command.body)) {
        EXPECT_EQ(assign->view.members[assign->rank].worker_id, command.worker_id);
      }
    }
    return !decision.events.empty();
  }

  std::string AnyWorker() { return absl::StrCat("w", rng_.Below(6)); }

  Input RandomInput() {
    const std::string id = AnyWorker();
    const auto worker = state_.workers.find(id);
    input::Speaker from{id, rng_.Below(10) == 0 ? rng_.Below(50) : 0};
    if (worker != state_.workers.end() && from.session == 0) from.session = worker->second.session;
    input::About about{"none", 0};
    if (worker != state_.workers.end()) {
      if (const Job* job = FindJobById(state_, worker->second.job_id)) about = {job->id, job->view};
    }
    if (rng_.Below(20) == 0) about.view += rng_.Below(3);
    switch (rng_.Below(20)) {
      case 0:
      case 1: {
        input::SubmitJob in;
        in.job_id = absl::StrCat("j", ++last_job_);
        if (rng_.Below(3) == 0) in.request_id = absl::StrCat("r", rng_.Below(5));
        in.spec.name = absl::StrCat("name", rng_.Below(4));
        in.spec.workers.min = static_cast<int64_t>(1 + rng_.Below(3));
        in.spec.workers.max = in.spec.workers.min + static_cast<int64_t>(rng_.Below(3));
        in.spec.workers.start_timeout_seconds = 3;
        return in;
      }
      case 2:
        if (rng_.Below(4) == 0) {
          return input::CancelJob{absl::StrCat("name", rng_.Below(4)), "random"};
        }
        return input::WorkerHeartbeat{from};
      case 3:
      case 4: {
        if (worker != state_.workers.end() && rng_.Below(8) != 0) {
          return input::WorkerHeartbeat{from};
        }
        input::WorkerRegistered in;
        in.session = ++last_session_;
        in.info.worker_id = id;
        in.info.incarnation = rng_.Below(4);
        in.info.transport = rng_.Below(2) == 0 ? "grpc" : "shm";
        return in;
      }
      case 5:
        if (rng_.Below(6) == 0) return input::WorkerDisconnected{from, "closed"};
        if (rng_.Below(6) == 0) return input::WorkerLeaving{from, "bye"};
        if (rng_.Below(6) == 0) {
          return input::WorkerFailed{from, about, absl::StatusCode::kInternal, "no"};
        }
        return input::WorkerIncident{from, about, 3, AnyWorker(), "late", ""};
      case 6: {
        EpochReport report;
        report.epoch = static_cast<uint32_t>(rng_.Below(8));
        report.evaluated = rng_.Below(2) == 0;
        report.test_samples = 10;
        return input::WorkerEpoch{from, about, report};
      }
      case 7:
      case 8: {
        ProgressReport report;
        report.step = rng_.Below(100);
        report.completing = rng_.Below(3) == 0;
        return input::WorkerProgress{from, about, report};
      }
      case 9:
      case 10:
      case 11:
        return input::WorkerFinished{from, about, FinishedReport()};
      case 12:
      case 13:
      case 14:
      case 15: {
        PreparedReport report;
        report.data_fingerprint = rng_.Below(40) == 0 ? 1 : 0;
        return input::WorkerPrepared{from, about, report};
      }
      default:
        return input::WorkerHeartbeat{from};
    }
  }

  void Check() {
    std::map<std::string, std::string> job_of;
    std::set<std::string> live_names;
    std::set<uint64_t> views;
    for (const auto& [number, job] : state_.jobs) {
      ASSERT_LE(job.notes.size(), state_.options.notes_max);
      ASSERT_EQ(job.state == JobState::kSucceeded, job.result.has_value());
      if (job.view != 0) {
        ASSERT_TRUE(views.insert(job.view).second) << "two jobs in view " << job.view;
      }
      ASSERT_LE(job.view, state_.last_view);
      if (const auto was = final_.find(job.id); was != final_.end()) {
        ASSERT_EQ(was->second, job.state) << job.id << " came back from its end";
      }
      if (IsFinal(job.state)) {
        if (final_.emplace(job.id, job.state).second && job.state == JobState::kSucceeded) {
          ++succeeded_;
        }
        continue;
      }
      ASSERT_TRUE(live_names.insert(job.spec.name).second) << "two live jobs " << job.spec.name;
      if (!HoldsWorkers(job.state)) continue;
      ASSERT_GE(static_cast<int64_t>(job.members.size()), job.spec.workers.min);
      ASSERT_LE(static_cast<int64_t>(job.members.size()), job.spec.workers.max);
      std::set<std::string> transports;
      for (const JobMember& member : job.members) {
        const std::string& id = member.worker.worker_id;
        ASSERT_TRUE(job_of.emplace(id, job.id).second) << id << " is in two jobs";
        ASSERT_TRUE(state_.workers.contains(id)) << job.id << " runs without " << id;
        ASSERT_EQ(state_.workers.at(id).job_id, job.id);
        transports.insert(member.worker.transport);
      }
      ASSERT_EQ(transports.size(), 1u);
    }
    for (const auto& [id, worker] : state_.workers) {
      ASSERT_EQ(worker.job_id, job_of.contains(id) ? job_of[id] : "");
      ASSERT_LE(now_ - worker.last_heartbeat, state_.options.lease);
    }
    ASSERT_LE(live_names.size(), state_.options.live_max);
    ASSERT_LE(state_.jobs.size(), state_.options.live_max + state_.options.finished_max);
  }

  Rng rng_;
  ClusterState state_, empty_;
  std::vector<Event> events_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<std::string, JobState> final_;
  uint64_t last_session_ = 0;
  int last_job_ = 0;
  int succeeded_ = 0;
};

TEST(CoordinatorPropertyTest, InvariantsHoldUnderRandomInputs) {
  int ended = 0, succeeded = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomCluster cluster(seed);
    for (int step = 0; step < 1500; ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      cluster.Step();
      if (testing::Test::HasFatalFailure()) return;
    }
    cluster.ReplayAll();
    cluster.Restart();
    if (testing::Test::HasFatalFailure()) return;
    ended += cluster.ended();
    succeeded += cluster.succeeded();
  }
  // The walk must reach the interesting places.
  EXPECT_GT(ended, 500);
  EXPECT_GT(succeeded, 50);
}

}  // namespace
}  // namespace gg
