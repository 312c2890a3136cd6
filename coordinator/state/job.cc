// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/job.h"

#include "absl/strings/str_cat.h"

namespace gg {

absl::string_view Name(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "PENDING";
    case JobState::kStarting:
      return "STARTING";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kCompleting:
      return "COMPLETING";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelled:
      return "CANCELLED";
  }
  return "UNKNOWN";
}

bool IsFinal(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

bool HoldsWorkers(JobState state) {
  return state == JobState::kStarting || state == JobState::kRunning ||
         state == JobState::kCompleting;
}

absl::string_view Name(MemberPhase phase) {
  switch (phase) {
    case MemberPhase::kPreparing:
      return "preparing";
    case MemberPhase::kReady:
      return "ready";
    case MemberPhase::kRunning:
      return "running";
    case MemberPhase::kFinishing:
      return "finishing";
    case MemberPhase::kFinished:
      return "finished";
    case MemberPhase::kFailed:
      return "failed";
    case MemberPhase::kLost:
      return "lost";
    case MemberPhase::kStopped:
      return "stopped";
  }
  return "unknown";
}

std::string Describe(const Job& job, Rank rank) {
  const WorkerInfo& worker = job.members[rank].worker;
  return absl::StrCat("worker ", worker.worker_id, " (rank ", rank, ", host ", worker.host,
                      ", pid ", worker.pid, ")");
}

std::string CountWorkers(size_t count) {
  return absl::StrCat(count, count == 1 ? " worker" : " workers");
}

Member MemberOf(const WorkerInfo& worker) {
  Member member = {worker.worker_id, worker.address, worker.topology};
  member.topology.try_emplace("host", worker.host);
  return member;
}

View ViewOf(const Job& job) {
  View view;
  view.number = job.view;
  for (const JobMember& member : job.members) {
    view.members.push_back(MemberOf(member.worker));
  }
  return view;
}

}  // namespace gg
