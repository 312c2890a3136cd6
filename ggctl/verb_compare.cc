// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/spec/exchange_use.h"
#include "ggctl/cluster/signals.h"
#include "ggctl/compare_html.h"
#include "ggctl/compare_plan.h"
#include "ggctl/compare_text.h"
#include "ggctl/comparison.h"
#include "ggctl/format.h"
#include "ggctl/job_input.h"
#include "ggctl/local_run.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"
#include "ggctl/worker_places.h"

namespace gg {

namespace {

constexpr int64_t kMostSeeds = 1000;

struct Options {
  JobInput input;
  std::optional<int64_t> workers;
  std::string algorithms;
  int64_t seeds = 1;
  double target = 0.88;
  std::string output;
  std::string out_file;
  std::vector<std::string> topology;
  LocalRunOptions run;
};

// A range takes what is neither below nor above it.
std::string NoNan(const std::string& text) {
  double value = 0;
  return absl::SimpleAtod(text, &value) && std::isnan(value)
             ? "must be a number from 0 to 1, not " + text
             : "";
}

class Compare {
 public:
  Compare(Session& session, const Options& options) : session_(session), options_(options) {}

  ExitCode Execute() {
    ExitCode code = Prepare();
    if (code != ExitCode::kOk) return code;
    std::ofstream file;
    bool had_content = false;
    if (!options_.out_file.empty()) {
      // Before hours of work, not after them; what is there stays until there is something better.
      file.open(options_.out_file, std::ios::app);
      if (!file) {
        return session_.Fail(ExitCode::kUsage,
                             absl::StrCat("--out: cannot write ", options_.out_file));
      }
      had_content = file.tellp() > 0;
      file.close();
    }
    code = RunAll();
    const bool keep = had_content && !comparison_.any_succeeded();
    if (keep) {
      session_.Warn(absl::StrCat("no run succeeded: ", options_.out_file,
                                 " is left as it was, the result goes to standard output"));
    }
    if (keep || options_.out_file.empty()) {
      Write(session_);
      return code;
    }
    file.open(options_.out_file, std::ios::trunc);
    Session to_file = session_;
    to_file.out = &file;
    Write(to_file);
    file.close();
    if (!file) {
      return session_.Fail(ExitCode::kGeneral, absl::StrCat("--out: ", options_.out_file,
                                                            " could not be written whole"));
    }
    return code;
  }

 private:
  // Checks every item before the first one runs.
  ExitCode Prepare() {
    auto items = ParseCompareItems(options_.algorithms);
    if (!items.ok()) return session_.Fail(items.status());
    comparison_.items = *std::move(items);
    comparison_.seeds = options_.seeds;
    comparison_.target = options_.target;
    ExitCode code = ExitCode::kOk;
    std::vector<Override> workers;
    if (!AddWorkers(session_, options_.input, options_.workers, &workers, &code)) return code;
    if (const std::string set = SetOf(options_.input, {"exchange.algorithm"}); !set.empty()) {
      return session_.Fail(ExitCode::kUsage,
                           absl::StrCat("--algorithms ", options_.algorithms, " and --set ", set,
                                        " both set the method; leave one out"));
    }
    const std::optional<JobFileInput> text = ReadJob(session_, options_.input, &code);
    if (!text.has_value()) return code;
    std::vector<JobFile> files = Parse(*text, workers);
    HideSettingsOfOthers(files);
    for (size_t i = 0; i < files.size(); ++i) {
      const CompareItem& item = comparison_.items[i];
      std::optional<JobSpec> spec = CheckJob(session_, text->name, std::move(files[i]), &code);
      if (!spec.has_value()) continue;
      spec->workers.min = spec->workers.max;  // all workers are here
      absl::StatusOr<WorkerPlaces> places = ParseWorkerPlaces(options_.topology, spec->workers.max);
      if (!places.ok()) {
        code = session_.Fail(ExitCode::kUsage,
                             absl::StrCat(item.label, ": ", places.status().message()));
        continue;
      }
      specs_.push_back(*std::move(spec));
      places_.push_back(*std::move(places));
    }
    if (specs_.size() < comparison_.items.size()) return code;
    // Shown is the job as the file has it, where that is a job without the settings of a method.
    JobFileInput alone = *text;
    alone.overrides.insert(alone.overrides.end(), workers.begin(), workers.end());
    const JobFile file = ParseJobFile(alone);
    comparison_.spec = file.ok() ? file.spec : specs_.front();
    comparison_.spec.workers.min = comparison_.spec.workers.max;
    return ExitCode::kOk;
  }

  // By item.
  std::vector<JobFile> Parse(const JobFileInput& text, const std::vector<Override>& workers) const {
    std::vector<JobFile> files;
    for (const CompareItem& item : comparison_.items) {
      JobFileInput one = text;
      one.overrides.insert(one.overrides.end(), workers.begin(), workers.end());
      for (Override& override_ : item.overrides()) one.overrides.push_back(std::move(override_));
      files.push_back(ParseJobFile(one));
    }
    return files;
  }

  // The job serves all methods: a setting that one of them reads is there for that one, unless the
  // item has it for itself.
  static void HideSettingsOfOthers(std::vector<JobFile>& files) {
    for (JobFile& file : files) {
      std::erase_if(file.warnings, [&](const Problem& warning) {
        return !absl::StartsWith(warning.source, "--algorithms ") &&
               !IsUsed(file.spec.exchange, warning.path) &&
               std::any_of(files.begin(), files.end(), [&](const JobFile& other) {
                 return IsUsed(other.spec.exchange, warning.path);
               });
      });
    }
  }

  // Seed by seed, so that what a busy machine does to the times meets all methods alike.
  ExitCode RunAll() {
    ExitCode first_failure = ExitCode::kOk;
    const size_t total = specs_.size() * static_cast<size_t>(options_.seeds);
    for (int64_t k = 0; k < options_.seeds; ++k) {
      for (size_t item = 0; item < specs_.size(); ++item) {
        JobSpec spec = specs_[item];
        spec.train.seed += static_cast<uint64_t>(k);
        session_.Hint(absl::StrCat("run ", comparison_.runs.size() + 1, " of ", total, ": ",
                                   comparison_.items[item].label, ", seed ", spec.train.seed));
        ComparedRun& run = comparison_.runs.emplace_back();
        run.item = item;
        run.seed = spec.train.seed;
        LocalRunOptions run_options = options_.run;
        run_options.topology = places_[item];
        run.outcome = RunOnce(session_, spec, run_options, &signals_);
        const ExitCode code = static_cast<ExitCode>(run.outcome.exit_code);
        if (code == ExitCode::kInterrupted) return code;
        if (code != ExitCode::kOk && first_failure == ExitCode::kOk) first_failure = code;
        if (code == ExitCode::kOk) Report(run.outcome);
        // Between two runs nothing else looks.
        if (Signals::IsStop(signals_.Wait(absl::ZeroDuration()))) return ExitCode::kInterrupted;
      }
    }
    return first_failure;
  }

  void Report(const RunOutcome& outcome) {
    const double accuracy = outcome.job.result().test_accuracy();
    session_.Hint(absl::StrCat("  ", accuracy >= 0 ? Percent(accuracy, 2) : "no final average",
                               " after ", ShortDuration(outcome.wall_seconds)));
  }

  void Write(Session& to) const {
    if (options_.output == "json") {
      WriteDocument(to, ComparisonToJson(comparison_), "json");
    } else if (options_.output == "html") {
      *to.out << ComparisonToHtml(comparison_) << std::flush;
    } else {
      *to.out << Table(ComparisonTable(comparison_));
      const Rows failures = FailureTable(comparison_);
      if (!failures.empty()) *to.out << "\n" << Table(failures);
      *to.out << std::flush;
    }
  }

  Session& session_;
  const Options& options_;
  Signals signals_;
  Comparison comparison_;
  std::vector<JobSpec> specs_;        // by item
  std::vector<WorkerPlaces> places_;  // by item, too: settings may change the number of workers
};

}  // namespace

Action AddCompare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddJobInput(app, &options->input);
  app.add_option("--algorithms", options->algorithms,
                 "Methods to compare, separated by commas, each with settings of its own after "
                 "colons: gossip-grad,gossip-grad:schedule=ring:payload=weights-momentum,"
                 "easgd:optimizer.nesterov=true. A field without a dot is one of spec.exchange")
      ->required();
  app.add_option("--workers", options->workers, kWorkersHelp);
  AddPlacesOption(app, &options->topology);
  app.add_option("--seeds", options->seeds,
                 "Runs of each method, with spec.train.seed and those that follow it")
      ->check(CLI::Range(int64_t{1}, kMostSeeds))
      ->capture_default_str();
  app.add_option("--target", options->target,
                 "Test accuracy, 0..1, that epochs and seconds are counted to")
      ->check(CLI::Range(0.0, 1.0))
      ->check(NoNan)
      ->capture_default_str();
  AddOutput(app, &options->output,
            {{"table", "mean and deviation over the seeds (default)"},
             {"json", "every run with its curve, one JSON document"},
             {"html", "charts and tables, one HTML file that needs nothing else"}});
  app.add_option("--out", options->out_file, "Write the result to this file");
  app.add_option("--bin-dir", options->run.bin_folder, kBinDirHelp);
  return [options](Session& session) { return Compare(session, *options).Execute(); };
}

}  // namespace gg
