// SPDX-License-Identifier: Apache-2.0
#include "ggctl/worker_places.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status.h"
#include "core/worker_id.h"

namespace gg {
namespace {

// Adds "rack=0,0,1,1" to `all`.
absl::Status AddPlaces(const std::string& text, int64_t workers, WorkerPlaces& all) {
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
  if (!all.emplace(name, std::move(places)).second) {
    return absl::InvalidArgumentError(absl::StrCat("--topology ", name, " is given twice"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddPlacesOption(CLI::App& app, std::vector<std::string>* texts) {
  app.add_option("--topology", *texts,
                 "Where the workers stand, in their order: rack=0,0,1,1 (repeatable); for schedule "
                 "hierarchical")
      ->allow_extra_args(false);
}

absl::StatusOr<WorkerPlaces> ParseWorkerPlaces(const std::vector<std::string>& texts,
                                               int64_t workers) {
  WorkerPlaces places;
  for (const std::string& text : texts) GG_RETURN_IF_ERROR(AddPlaces(text, workers, places));
  return places;
}

}  // namespace gg
