// SPDX-License-Identifier: Apache-2.0
//
// One job on an embedded cluster, from the first process to the outcome. Whatever happens (a worker
// or the coordinator is killed, Ctrl-C, a start that fails) it returns within about 10 seconds of
// it, with the culprit named and no process left. Thread-safety: main thread, before any other
// thread exists.
#ifndef GOSSIPGRAD_GGCTL_LOCAL_RUN_H_
#define GOSSIPGRAD_GGCTL_LOCAL_RUN_H_

#include <string>

#include "core/spec/job_spec.h"
#include "ggctl/cluster/signals.h"
#include "ggctl/exit_code.h"
#include "ggctl/job_json.h"
#include "ggctl/session.h"
#include "ggctl/worker_places.h"

namespace gg {

struct LocalRunOptions {
  std::string bin_folder;
  std::string log_folder;
  bool keep_logs = false;
  // Each has as many as there are workers.
  WorkerPlaces topology;
  std::string output;  // "json" or "yaml": the outcome as one document, else a short table
};

// `spec` is valid and has workers.min == workers.max. Prints the outcome.
ExitCode LocalRun(Session& session, const JobSpec& spec, const LocalRunOptions& options);

// The same, but for printing: for callers that make several runs, one after the other, under the
// same `signals`. Progress and errors go to session.err; the outcome holds the exit code.
RunOutcome RunOnce(Session& session, const JobSpec& spec, const LocalRunOptions& options,
                   Signals* signals);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_LOCAL_RUN_H_
