// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ggctl/job_input.h"
#include "ggctl/local_run.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"

namespace gg {

Action AddLocalRun(CLI::App& app) {
  struct Options {
    JobInput input;
    std::optional<int64_t> workers;
    LocalRunOptions run;
  };
  auto options = std::make_shared<Options>();
  AddJobInput(app, &options->input);
  app.add_option("--workers", options->workers, kWorkersHelp);
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
    return LocalRun(session, *spec, options->run);
  };
}

}  // namespace gg
