// SPDX-License-Identifier: Apache-2.0
#include "ggctl/follow.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "ggctl/format.h"
#include "ggctl/job_follower.h"
#include "ggctl/jobfile/text.h"
#include "ggctl/progress.h"

namespace gg {

namespace v1 = gossipgrad::v1;

namespace {

// Unanswered for this long is told; shorter is a busy machine.
constexpr absl::Duration kToldAfter = absl::Seconds(3);

}  // namespace

ExitCode FollowJob(Session& session, Signals* signals, JobClient* client, const std::string& name,
                   const FollowOptions& options, v1::Job* last) {
  JobFollower follower(client, name);
  const auto view = MakeProgressView(session.err_terminal, session.err);
  const absl::Time deadline = absl::Now() + options.timeout;
  bool told_silent = false;
  while (true) {
    const int signal =
        signals->Wait(std::min(deadline - absl::Now(), absl::Seconds(1)), follower.fd());
    JobFollower::Update update = follower.Take();
    const absl::Time now = absl::Now();
    if (update.job.has_value()) {
      *last = *std::move(update.job);
      if (options.progress) view->Update(*last, now);
    } else if (options.progress) {
      view->Tick(now);
    }
    if (!told_silent && update.silent >= kToldAfter) {
      told_silent = true;
      view->Finish();
      session.Warn(
          absl::StrCat("the coordinator at ", client->server(), " does not answer; still trying"));
    } else if (told_silent && update.silent == absl::ZeroDuration()) {
      told_silent = false;
      view->Finish();
      session.Hint("the coordinator answers again");
    }
    if (update.ended) {
      view->Finish();
      return update.status.ok() ? ExitCodeOf(*last)
                                : session.FailForJob(client, name, update.status);
    }
    if (Signals::IsStop(signal) || now >= deadline) {
      view->Finish();
      const bool timed_out = !Signals::IsStop(signal);
      if (timed_out)
        session.Fail(ExitCode::kTimedOut, absl::StrCat("job/", name, " is not over yet"));
      session.Hint(absl::StrCat("job/", name, " goes on.\n  follow it again:  ggctl watch ", name,
                                "\n  stop it:          ggctl cancel ", name));
      return timed_out ? ExitCode::kTimedOut : ExitCode::kInterrupted;
    }
  }
}

std::string Summary(const v1::Job& job) {
  const v1::JobResult& r = job.result();
  std::vector<std::pair<std::string, std::string>> rows = {{"state", StateName(job.state())}};
  if (!job.reason().empty()) rows.emplace_back("reason", Printable(job.reason()));
  if (job.has_result()) {
    rows.emplace_back("trained", absl::StrCat(Thousands(static_cast<double>(r.steps())), " steps, ",
                                              absl::StrFormat("%.4g", r.epochs()), " epochs in ",
                                              absl::StrFormat("%.1f", r.train_seconds()), " s"));
    rows.emplace_back("test accuracy",
                      r.test_accuracy() < 0
                          ? std::string("unknown (exchange.final_average is off)")
                          : absl::StrCat(Percent(r.test_accuracy(), 2), " (averaged model)"));
    if (r.replica_accuracy_size() > 0) {
      const auto [low, high] =
          std::minmax_element(r.replica_accuracy().begin(), r.replica_accuracy().end());
      rows.emplace_back("replicas", absl::StrCat(Percent(*low, 2), " to ", Percent(*high, 2)));
    }
    if (r.train_loss_size() > 0) {
      rows.emplace_back("train loss",
                        absl::StrFormat("%.4f in the last epoch", *r.train_loss().rbegin()));
    }
    rows.emplace_back("throughput", absl::StrCat(Thousands(r.samples_per_second()), " samples/s"));
    rows.emplace_back("communication",
                      absl::StrCat(absl::StrFormat("%.1f", r.messages_per_step()), " messages, ",
                                   Bytes(r.sent_bytes_per_step()), " per worker and step; exposed ",
                                   Percent(r.comm_wait_ratio())));
    const std::string distance =
        r.consensus_distance() < 0 ? "unknown" : absl::StrFormat("%.4g", r.consensus_distance());
    rows.emplace_back("consensus", absl::StrFormat("distance %s, %d skipped exchanges", distance,
                                                   r.skipped_exchanges()));
  }
  std::string out;
  for (const auto& [name, value] : rows)
    absl::StrAppend(&out, absl::StrFormat("%-14s ", name), value, "\n");
  return out;
}

}  // namespace gg
