// SPDX-License-Identifier: Apache-2.0
#include "ggctl/local_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/clock.h"
#include "core/status.h"
#include "ggctl/cluster/local_cluster.h"
#include "ggctl/cluster/signals.h"
#include "ggctl/follow.h"
#include "ggctl/format.h"
#include "ggctl/job_follower.h"
#include "ggctl/job_json.h"
#include "ggctl/output.h"
#include "ggctl/progress.h"
#include "proto/codec/job_spec_codec.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

constexpr absl::Duration kCoordinatorStart = absl::Seconds(20);
// A worker that has not registered by then is frozen: a healthy one needs a fraction of a second.
constexpr absl::Duration kRegistration = absl::Seconds(30);
constexpr absl::Duration kStopGrace = absl::Seconds(3);
// After a child died: how long the coordinator may take to notice and to say what becomes of the
// job.
constexpr absl::Duration kVerdict = absl::Seconds(4);
// The same while the job still waits for workers: then no worker of it is lost, and the wait would
// be for nothing.
constexpr absl::Duration kVerdictWhenPending = absl::Milliseconds(500);
constexpr absl::Duration kCallTimeout = absl::Seconds(5);
// A coordinator that answers nothing for this long is given up: frozen, not merely busy.
constexpr absl::Duration kSilence = absl::Seconds(6);
// Processes have less time to end in order when the coordinator no longer takes part.
constexpr absl::Duration kStopGraceAfterSilence = absl::Seconds(2);
// A connection that breaks tells of a death before the kernel does.
constexpr absl::Duration kDeathAfterDisconnect = absl::Seconds(1);
constexpr size_t kTailLines = 15;

class Run {
 public:
  Run(Session& session, const JobSpec& spec, const LocalRunOptions& options, Signals* signals)
      : session_(session),
        spec_(spec),
        options_(options),
        signals_(*signals),
        view_(MakeProgressView(session.err_terminal, session.err)) {}

  RunOutcome Execute() {
    const absl::Time begin = RealClock().Now();
    outcome_.workers = static_cast<int>(spec_.workers.max);
    *outcome_.job.mutable_spec() = ToProto(spec_);
    const ExitCode code = RunCluster();
    outcome_.wall_seconds = absl::ToDoubleSeconds(RealClock().Now() - begin);
    outcome_.exit_code = static_cast<int>(code);
    return std::move(outcome_);
  }

 private:
  ExitCode RunCluster() {
    LocalClusterOptions cluster_options;
    cluster_options.bin_folder = options_.bin_folder;
    cluster_options.log_folder = options_.log_folder;
    cluster_options.keep_logs = options_.keep_logs;
    cluster_options.workers = outcome_.workers;
    cluster_options.topology = options_.topology;
    cluster_options.threads = static_cast<int>(spec_.workers.threads);
    auto prepared = LocalCluster::Prepare(cluster_options, &signals_);
    if (!prepared.ok()) return Failed(ExitCode::kGeneral, std::string(prepared.status().message()));
    cluster_ = *std::move(prepared);
    outcome_.threads_per_worker = cluster_->threads();
    ExitCode code = StartAndTrain();
    view_->Finish();
    client_.reset();  // an open connection would hold up the coordinator's shutdown
    cluster_->Stop(silent_ ? kStopGraceAfterSilence : kStopGrace);
    if (!outcome_.culprit.empty() && code != ExitCode::kOk) ShowTail();
    if (options_.keep_logs)
      session_.Hint(absl::StrCat("logs and store are in ", cluster_->folder()));
    if (!options_.log_folder.empty())
      session_.Hint(absl::StrCat("logs are in ", options_.log_folder));
    cluster_.reset();
    return code;
  }

  ExitCode StartAndTrain() {
    if (const absl::Status started = cluster_->StartCoordinator(kCoordinatorStart); !started.ok()) {
      if (absl::IsCancelled(started)) return Interrupted();
      SetCulprit(*cluster_->processes().front());
      return Failed(ExitCode::kUnavailable,
                    absl::StrCat("the coordinator did not start: ", started.message()));
    }
    if (const absl::Status started = cluster_->StartWorkers(); !started.ok()) {
      return Failed(ExitCode::kGeneral, std::string(started.message()));
    }
    client_.emplace(cluster_->address(), kCallTimeout);
    auto job = client_->Submit(spec_, NewRequestId(), /*validate_only=*/false);
    if (!job.ok()) {
      if (LostCoordinator(job.status())) return CoordinatorLost(job.status());
      NoteDeaths();
      outcome_.state = "Failed";
      outcome_.reason = std::string(job.status().message());
      return session_.Fail(job.status());
    }
    outcome_.job = *std::move(job);
    return Train();
  }

  ExitCode Train() {
    JobFollower follower(&*client_, outcome_.job.id());
    absl::Time verdict_deadline = absl::InfiniteFuture();
    const absl::Time registered_by = RealClock().Now() + kRegistration;
    while (true) {
      const int signal = signals_.Wait(absl::Milliseconds(500), follower.fd());
      const absl::Time now = RealClock().Now();
      JobFollower::Update update = follower.Take();
      if (update.job.has_value()) {
        outcome_.job = *std::move(update.job);
        view_->Update(outcome_.job, now);
      } else {
        view_->Tick(now);
      }
      if (update.ended && update.status.ok()) return Ended();
      if (Signals::IsStop(signal)) return Interrupted();
      if (NoteDeaths() && verdict_deadline == absl::InfiniteFuture()) {
        const bool pending = outcome_.job.state() == v1::JOB_STATE_PENDING;
        verdict_deadline = now + (pending ? kVerdictWhenPending : kVerdict);
      }
      if (!cluster_->coordinator_runs()) return CoordinatorDied();
      if (update.silent >= kSilence || (update.ended && update.silent > absl::ZeroDuration()))
        return CoordinatorSilent();
      if (update.ended) return CoordinatorLost(update.status);
      if (now >= verdict_deadline) return Failed(ExitCode::kJobFailed, outcome_.culprit);
      const bool pending = outcome_.job.state() == v1::JOB_STATE_PENDING;
      if (pending && now >= registered_by) return NotStarted();
    }
  }

  // The job still waits for workers, though all of them were started long ago.
  ExitCode NotStarted() {
    const auto known = client_->ListWorkers();
    if (!known.ok()) return CoordinatorLost(known.status());
    std::vector<std::string> missing;
    for (const auto& process : cluster_->processes()) {
      const bool there = process->name == "coordinator" ||
                         std::any_of(known->begin(), known->end(), [&](const v1::WorkerStatus& w) {
                           return w.worker_id() == process->name;
                         });
      if (there) continue;
      if (missing.empty()) SetCulprit(*process);
      missing.push_back(process->ToString());
    }
    if (missing.empty()) return Failed(ExitCode::kJobFailed, outcome_.job.reason());
    return Failed(ExitCode::kJobFailed,
                  absl::StrCat(absl::StrJoin(missing, ", "), " did not register within ",
                               absl::FormatDuration(kRegistration)));
  }

  // The job is in a final state.
  ExitCode Ended() {
    outcome_.state = StateName(outcome_.job.state());
    outcome_.reason = outcome_.job.state() == v1::JOB_STATE_SUCCEEDED ? "" : outcome_.job.reason();
    if (outcome_.job.state() == v1::JOB_STATE_FAILED) {
      // A worker that dies takes its last words with it; its exit may arrive a moment after the
      // coordinator's verdict.
      signals_.Wait(absl::Milliseconds(200));
      NoteDeaths();
      view_->Finish();
      session_.Fail(ExitCode::kJobFailed,
                    absl::StrCat("job/", spec_.name, " failed: ", outcome_.reason));
      if (!outcome_.culprit.empty()) session_.Hint(absl::StrCat("  ", outcome_.culprit));
    }
    return ExitCodeOf(outcome_.job);
  }

  static bool LostCoordinator(const absl::Status& status) {
    return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
           absl::IsCancelled(status);
  }

  // A call to the coordinator ended with `status`: because it died, because it is frozen, or for
  // what it says.
  ExitCode CoordinatorLost(const absl::Status& status) {
    const absl::Time deadline = RealClock().Now() + kDeathAfterDisconnect;
    while (RealClock().Now() < deadline) {
      NoteDeaths();
      if (!cluster_->coordinator_runs()) return CoordinatorDied();
      if (absl::IsDeadlineExceeded(status)) return CoordinatorSilent();
      if (Signals::IsStop(signals_.Wait(absl::Milliseconds(50)))) return Interrupted();
    }
    return Failed(ExitCode::kUnavailable,
                  absl::StrCat("lost sight of the job: ", status.message()));
  }

  ExitCode CoordinatorSilent() {
    silent_ = true;
    SetCulprit(*cluster_->processes().front());
    absl::StrAppend(&outcome_.culprit, " does not answer");
    return Failed(ExitCode::kUnavailable, absl::StrCat("the ", outcome_.culprit));
  }

  ExitCode CoordinatorDied() {
    SetCulprit(*cluster_->processes().front());
    return Failed(ExitCode::kUnavailable, absl::StrCat("the ", outcome_.culprit));
  }

  ExitCode Interrupted() {
    view_->Finish();
    outcome_.state = "Cancelled";
    outcome_.reason = "interrupted";
    session_.Hint("interrupted: stopping all processes");
    return ExitCode::kInterrupted;
  }

  ExitCode Failed(ExitCode code, std::string reason) {
    view_->Finish();
    outcome_.state = "Failed";
    outcome_.reason = reason;
    return session_.Fail(code, absl::StrCat("job/", spec_.name, " failed: ", reason));
  }

  // True when a child has ended that should not have. The first one is the culprit: others may only
  // follow it.
  bool NoteDeaths() {
    const std::vector<const LocalProcess*> ended = cluster_->Reap();
    for (const LocalProcess* process : ended) {
      if (outcome_.culprit.empty()) SetCulprit(*process);
    }
    return !ended.empty();
  }

  void SetCulprit(const LocalProcess& process) {
    outcome_.culprit = process.ToString();
    culprit_log_ = process.log_path;
    culprit_name_ = process.name;
  }

  void ShowTail() {
    const std::vector<std::string> tail = LogTail(culprit_log_, kTailLines);
    session_.Hint(absl::StrCat("last lines of ", culprit_name_, tail.empty() ? ": <none>" : ":"));
    for (const std::string& line : tail) session_.Hint(absl::StrCat("  | ", line));
  }

  Session& session_;
  const JobSpec& spec_;
  const LocalRunOptions& options_;
  Signals& signals_;
  std::unique_ptr<ProgressView> view_;
  std::unique_ptr<LocalCluster> cluster_;
  std::optional<JobClient> client_;
  RunOutcome outcome_;
  std::string culprit_log_, culprit_name_;
  bool silent_ = false;  // the coordinator froze
};

}  // namespace

RunOutcome RunOnce(Session& session, const JobSpec& spec, const LocalRunOptions& options,
                   Signals* signals) {
  return Run(session, spec, options, signals).Execute();
}

ExitCode LocalRun(Session& session, const JobSpec& spec, const LocalRunOptions& options) {
  Signals signals;
  const RunOutcome outcome = RunOnce(session, spec, options, &signals);
  const ExitCode code = static_cast<ExitCode>(outcome.exit_code);
  if (IsDocument(options.output)) {
    WriteDocument(session, OutcomeToJson(outcome), options.output);
  } else if (code == ExitCode::kOk) {
    session.Print(Summary(outcome.job));
  }
  return code;
}

}  // namespace gg
