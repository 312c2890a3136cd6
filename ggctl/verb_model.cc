// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/spec/suggest.h"
#include "core/status.h"
#include "ggctl/model_view.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"
#include "model/zoo/zoo.h"

namespace gg {
namespace {

constexpr absl::string_view kZoo = "zoo:";
// Beyond, these are mistakes.
constexpr int64_t kMostClasses = int64_t{1} << 24;
constexpr int64_t kMostBatch = int64_t{1} << 24;

struct Options {
  std::string model;
  std::string input;
  std::optional<int64_t> classes;
  int64_t batch = 1;
  std::string output;
};

// The known names, where the given one is not among them.
absl::StatusOr<model::ZooEntry> Find(const std::string& given) {
  std::vector<std::string> names;
  for (const model::ZooEntry& entry : model::Zoo()) names.push_back(absl::StrCat(kZoo, entry.name));
  if (!absl::StartsWith(given, kZoo)) {
    const std::string near = Nearest(absl::StrCat(kZoo, given), names);
    return absl::InvalidArgumentError(
        absl::StrCat("only ", kZoo, "NAME can be inspected, got \"", given, "\"",
                     near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?")));
  }
  for (const model::ZooEntry& entry : model::Zoo()) {
    if (absl::StripPrefix(given, kZoo) == entry.name) return entry;
  }
  const std::string near = Nearest(given, names);
  return absl::InvalidArgumentError(
      absl::StrCat("no model \"", given, "\"",
                   near.empty() ? absl::StrCat("; known: ", absl::StrJoin(names, ", "))
                                : absl::StrCat("; did you mean \"", near, "\"?")));
}

// "3x224x224".
absl::StatusOr<model::Shape> ParseInput(const std::string& text) {
  model::Shape shape;
  for (const absl::string_view part : absl::StrSplit(text, 'x')) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size) || size < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--input: expected sizes of at least 1 such as 3x224x224, got \"", text, "\""));
    }
    shape.push_back(size);
  }
  return shape;
}

absl::StatusOr<ModelView> View(const model::ZooEntry& entry, const model::Shape& input,
                               int64_t classes, int64_t batch) {
  GG_ASSIGN_OR_RETURN(const model::Graph graph,
                      model::MakeZooModel(entry.name, {.input = input, .classes = classes}));
  GG_ASSIGN_OR_RETURN(ModelView view, ViewModel(graph, batch));
  view.source = std::string(entry.source);
  view.classes = classes;
  return view;
}

absl::StatusOr<ModelView> Inspect(const Options& options) {
  GG_ASSIGN_OR_RETURN(const model::ZooEntry entry, Find(options.model));
  model::Shape input = entry.usual_input;
  if (!options.input.empty()) {
    GG_ASSIGN_OR_RETURN(input, ParseInput(options.input));
  }
  return View(entry, input, options.classes.value_or(entry.usual_classes), options.batch);
}

absl::StatusOr<std::vector<ModelView>> List() {
  std::vector<ModelView> views;
  for (const model::ZooEntry& entry : model::Zoo()) {
    GG_ASSIGN_OR_RETURN(ModelView view, View(entry, entry.usual_input, entry.usual_classes, 1));
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace

Action AddModelInspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "zoo:NAME; `ggctl model list` shows the names")
      ->required();
  app.add_option("--input", options->input,
                 "Shape of one sample, such as 3x224x224; default: the model's usual one");
  app.add_option("--classes", options->classes, "Classes; default: the model's usual number")
      ->check(CLI::Range(int64_t{1}, kMostClasses));
  app.add_option("--batch", options->batch, "Samples in the shapes that are shown")
      ->check(CLI::Range(int64_t{1}, kMostBatch))
      ->capture_default_str();
  AddOutput(app, &options->output, {{"table", "for people, the default"}, kJsonForm, kYamlForm});
  return [options](Session& session) {
    const auto view = Inspect(*options);
    if (!view.ok()) {
      return session.Fail(ExitCode::kUsage, std::string(view.status().message()));
    }
    if (IsDocument(options->output)) {
      WriteDocument(session, ModelToJson(*view), options->output);
    } else {
      session.Print(ModelToText(*view));
    }
    return ExitCode::kOk;
  };
}

Action AddModelList(CLI::App& app) {
  auto output = std::make_shared<std::string>();
  AddOutput(app, output.get(), {{"table", "for people, the default"}, kJsonForm, kYamlForm});
  return [output](Session& session) {
    const auto views = List();
    if (!views.ok()) {
      return session.Fail(ExitCode::kGeneral, std::string(views.status().message()));
    }
    if (IsDocument(*output)) {
      WriteDocument(session, ModelsToJson(*views), *output);
    } else {
      session.Print(ModelsToText(*views));
    }
    return ExitCode::kOk;
  };
}

}  // namespace gg
