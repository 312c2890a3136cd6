// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/ending.h"

#include <utility>

#include "coordinator/state/results.h"

namespace gg {
namespace {

MemberEnd EndOf(const JobMember& member) {
  MemberEnd end;
  end.phase = member.phase;
  end.progress = member.progress;
  if (member.finished.has_value())
    end.progress.skipped_exchanges = member.finished->skipped_exchanges;
  end.transport = member.transport;
  return end;
}

JobProgress ProgressAtEnd(const Job& job, const event::JobEnded& ended) {
  JobProgress progress = Summarise(job, ended.time);
  progress.eta_seconds = -1;
  progress.curve = Curve(job);
  if (!ended.result.has_value()) return progress;
  const JobResult& result = *ended.result;
  progress.step = progress.total_steps = result.steps;
  progress.epoch = result.epochs;
  progress.eta_seconds = 0;
  if (!result.train_loss.empty()) progress.loss = result.train_loss.back();
  if (!result.epoch_test_accuracy.empty()) {
    progress.test_accuracy = result.epoch_test_accuracy.back();
  }
  progress.samples_per_second = result.samples_per_second;
  progress.comm_wait_ratio = result.comm_wait_ratio;
  return progress;
}

}  // namespace

Job JobAfter(const ClusterState& state, const Job& job, const std::vector<Event>& events) {
  ClusterState alone;
  alone.options = state.options;
  alone.jobs[job.number] = job;
  alone.job_number[job.id] = job.number;
  for (const Event& event : events) Apply(event, &alone);
  return std::move(alone.jobs.at(job.number));
}

void Seal(const Job& job, const Culprit& culprit, event::JobEnded* ended) {
  ended->progress = ProgressAtEnd(job, *ended);
  ended->notes.assign(job.notes.begin(), job.notes.end());
  ended->revision = job.revision;
  ended->culprit = culprit.rank;
  for (Rank rank = 0; rank < static_cast<Rank>(job.members.size()); ++rank) {
    MemberEnd& end = ended->members.emplace_back(EndOf(job.members[rank]));
    if (rank == culprit.rank) {
      end.phase = culprit.phase;
      end.reason = culprit.reason;
    } else if (ended->state == JobState::kSucceeded) {
      end.phase = MemberPhase::kFinished;
    } else if (end.phase != MemberPhase::kFinished) {
      end.phase = MemberPhase::kStopped;
    }
  }
}

}  // namespace gg
