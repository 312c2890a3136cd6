// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ggctl/job_input.h"
#include "ggctl/local_run.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"
#include "ggctl/worker_places.h"

namespace gg {

Action AddLocalRun(CLI::App& app) {
  struct Options {
    JobInput input;
    std::optional<int64_t> workers;
    std::vector<std::string> topology;
    LocalRunOptions run;
  };
  auto options = std::make_shared<Options>();
  AddJobInput(app, &options->input);
  app.add_option("--workers", options->workers, kWorkersHelp);
  AddPlacesOption(app, &options->topology);
  AddOutput(app, &options->run.output, {{"json", "the outcome as one JSON object"}, kYamlForm});
  app.add_option("--bin-dir", options->run.bin_folder, kBinDirHelp);
  app.add_option("--log-dir", options->run.log_folder,
                 "Keep the logs of all processes in this folder");
  app.add_flag("--keep-logs", options->run.keep_logs,
               "Keep the private folder with logs and store, and say where it is");
  return [options](Session& session) {
    ExitCode code = ExitCode::kOk;
    std::vector<Override> overrides;
    if (!AddWorkers(session, options->input, options->workers, &overrides, &code)) return code;
    std::optional<JobSpec> spec = LoadJob(session, options->input, overrides, &code);
    if (!spec.has_value()) return code;
    // All workers are here; fewer would only leave processes idle.
    spec->workers.min = spec->workers.max;
    LocalRunOptions run = options->run;
    absl::StatusOr<WorkerPlaces> places = ParseWorkerPlaces(options->topology, spec->workers.max);
    if (!places.ok()) return session.Fail(ExitCode::kUsage, std::string(places.status().message()));
    run.topology = *std::move(places);
    return LocalRun(session, *spec, run);
  };
}

}  // namespace gg
