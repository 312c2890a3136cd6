// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
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
  app.add_option(
      "--workers", options->workers,
      "Number of workers; sets workers.min and workers.max, which --set must not name then");
  AddOutput(app, &options->run.output, {{"json", "the outcome as one JSON object"}, kYamlForm});
  app.add_option("--bin-dir", options->run.bin_folder,
                 "Folder of gg-coordinator and gg-worker; default: that of ggctl");
  app.add_option("--log-dir", options->run.log_folder,
                 "Keep the logs of all processes in this folder");
  app.add_flag("--keep-logs", options->run.keep_logs,
               "Keep the private folder with logs and store, and say where it is");
  return [options](Session& session) {
    std::vector<Override> overrides;
    if (options->workers.has_value()) {
      for (const std::string& set : options->input.sets) {
        absl::string_view path =
            absl::StripAsciiWhitespace(absl::string_view(set).substr(0, set.find('=')));
        absl::ConsumePrefix(&path, "spec.");
        if (path != "workers.min" && path != "workers.max") continue;
        return session.Fail(ExitCode::kUsage,
                            absl::StrCat("--workers ", *options->workers, " and --set ", set,
                                         " both set the number of workers; leave one out"));
      }
      const std::string option = absl::StrCat("--workers ", *options->workers);
      overrides.push_back({absl::StrCat("workers.min=", *options->workers), option});
      overrides.push_back({absl::StrCat("workers.max=", *options->workers), option});
    }
    ExitCode code = ExitCode::kOk;
    std::optional<JobSpec> spec = LoadJob(session, options->input, overrides, &code);
    if (!spec.has_value()) return code;
    // All workers are here; fewer would only leave processes idle.
    spec->workers.min = spec->workers.max;
    return LocalRun(session, *spec, options->run);
  };
}

}  // namespace gg
