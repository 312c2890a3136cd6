// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/status.h"
#include "core/worker_id.h"
#include "ggctl/job_input.h"
#include "ggctl/local_run.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"

namespace gg {
namespace {

// Adds "rack=0,0,1,1" to `topology`.
absl::Status AddPlaces(const std::string& text, int64_t workers,
                       std::map<std::string, std::vector<std::string>>& topology) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::vector<std::string> places;
  if (equals != std::string::npos) places = absl::StrSplit(text.substr(equals + 1), ',');
  for (const std::string& place : places) {
    GG_RETURN_IF_ERROR(Annotate(CheckTopology({{name, place}}), absl::StrCat("--topology ", text)));
  }
  if (static_cast<int64_t>(places.size()) != workers) {
    return absl::InvalidArgumentError(
        absl::StrCat("--topology ", text, ": expected NAME= and the places of ", workers,
                     " workers, separated by commas, such as rack=0,0,1,1; got ", places.size()));
  }
  if (!topology.emplace(name, std::move(places)).second) {
    return absl::InvalidArgumentError(absl::StrCat("--topology ", name, " is given twice"));
  }
  return absl::OkStatus();
}

}  // namespace

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
  app.add_option("--topology", options->topology,
                 "Where the workers stand, in their order: rack=0,0,1,1 (repeatable); for schedule "
                 "hierarchical")
      ->allow_extra_args(false);
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
    for (const std::string& text : options->topology) {
      const absl::Status added = AddPlaces(text, spec->workers.max, run.topology);
      if (!added.ok()) return session.Fail(ExitCode::kUsage, std::string(added.message()));
    }
    return LocalRun(session, *spec, run);
  };
}

}  // namespace gg
