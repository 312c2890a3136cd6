// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/graph.h"
#include "core/schedule/schedule.h"
#include "core/spec/suggest.h"
#include "core/status.h"
#include "ggctl/output.h"
#include "ggctl/schedule_view.h"
#include "ggctl/verb.h"
#include "platform/read_file.h"

namespace gg {
namespace {

// Beyond, nobody looks at it any more.
constexpr int kMostWorkers = 256;
constexpr uint64_t kMostSteps = 10000;

struct Options {
  std::string schedule;
  std::optional<int> workers;
  std::optional<uint64_t> steps;
  uint64_t seed = 1;
  bool no_rotate = false;
  std::string graph_file;
  std::optional<int> groups;
  std::string output;
};

absl::StatusOr<std::unique_ptr<PartnerSchedule>> Make(const Options& options) {
  const auto wrong = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  };
  ScheduleOptions made = {.seed = options.seed, .rotate = !options.no_rotate};
  const bool graph = options.schedule == "graph";
  const bool hierarchical = options.schedule == "hierarchical";
  if (graph == options.graph_file.empty()) {
    return graph ? wrong("schedule graph needs --graph-file")
                 : wrong("--graph-file is for schedule graph only");
  }
  if (hierarchical != options.groups.has_value()) {
    return hierarchical ? wrong("schedule hierarchical needs --groups")
                        : wrong("--groups is for schedule hierarchical only");
  }
  if (!graph && !options.workers.has_value()) return wrong("--workers is required");
  made.size = options.workers.value_or(1);
  if (graph) {
    GG_ASSIGN_OR_RETURN(const std::string text,
                        ReadSmallFile(options.graph_file, kLongestScheduleGraph));
    GG_ASSIGN_OR_RETURN(ScheduleGraph parsed, ParseScheduleGraph(text, options.graph_file));
    if (!options.workers.has_value()) made.size = parsed.size;
    if (made.size > kMostWorkers) {
      return wrong(options.graph_file, " is for ", Workers(made.size), ", at most ", kMostWorkers,
                   " can be shown");
    }
    made.graph = std::make_shared<ScheduleGraph>(std::move(parsed));
  }
  if (hierarchical) {
    if (made.size % *options.groups != 0) {
      return wrong(Workers(made.size), " cannot stand in ", *options.groups, " groups of one size");
    }
    const int each = made.size / *options.groups;
    for (Rank r = 0; r < made.size; ++r) made.places.push_back(absl::StrCat(r / each));
  }
  return MakeSchedule(options.schedule, made);
}

// The library's conversion takes "-1", and what is too large, for the largest number.
std::string IsSeed(const std::string& text) {
  uint64_t seed = 0;
  return absl::SimpleAtoi(text, &seed)
             ? ""
             : absl::StrCat("must be a whole number from 0 to ", UINT64_MAX, ", got ", text);
}

// The known names, where the given one is not among them.
std::string NameMistake(const std::string& name) {
  std::vector<std::string> names;
  for (const absl::string_view known : ScheduleNames()) names.emplace_back(known);
  if (std::find(names.begin(), names.end(), name) != names.end()) return "";
  const std::string near = Nearest(name, names);
  return absl::StrCat("no schedule \"", name, "\"",
                      near.empty() ? absl::StrCat("; known: ", absl::StrJoin(names, ", "))
                                   : absl::StrCat("; did you mean \"", near, "\"?"));
}

}  // namespace

Action AddScheduleExplain(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--schedule", options->schedule,
                 absl::StrCat("One of ", absl::StrJoin(ScheduleNames(), ", ")))
      ->required();
  app.add_option("--workers", options->workers, "Number of workers; of graph the file says it")
      ->check(CLI::Range(1, kMostWorkers));
  app.add_option("--steps", options->steps, "Steps to show; default: one round")
      ->check(CLI::Range(uint64_t{1}, kMostSteps));
  app.add_option("--seed", options->seed, "Seed of the job (train.seed)")
      ->check(IsSeed)
      ->capture_default_str();
  app.add_flag("--no-rotate", options->no_rotate, "Keep the ranks where they are in every round");
  app.add_option("--graph-file", options->graph_file, "The file of schedule graph");
  app.add_option("--groups", options->groups,
                 "Equal groups of schedule hierarchical, of workers that follow each other")
      ->check(CLI::Range(1, kMostWorkers));
  AddOutput(app, &options->output,
            {{"table", "for people, the default"},
             kJsonForm,
             kYamlForm,
             {"dot", "a directed graph for Graphviz, edges labelled with steps"},
             {"svg", "a picture: the workers on a circle, a panel per step, at most 32"}});
  return [options](Session& session) {
    if (const std::string mistake = NameMistake(options->schedule); !mistake.empty()) {
      return session.Fail(ExitCode::kUsage, mistake);
    }
    const auto schedule = Make(*options);
    if (!schedule.ok()) {
      return session.Fail(ExitCode::kUsage, std::string(schedule.status().message()));
    }
    const uint64_t round = static_cast<uint64_t>(std::max(1, (*schedule)->round_length()));
    const ScheduleView view = ViewSchedule(**schedule, options->seed, !options->no_rotate,
                                           options->steps.value_or(std::min(round, kMostSteps)));
    if (IsDocument(options->output)) {
      WriteDocument(session, ScheduleToJson(view), options->output);
    } else if (options->output == "dot") {
      *session.out << ScheduleToDot(view) << std::flush;
    } else if (options->output == "svg") {
      *session.out << ScheduleToSvg(view) << std::flush;
    } else {
      session.Print(ScheduleToText(view));
    }
    return ExitCode::kOk;
  };
}

}  // namespace gg
