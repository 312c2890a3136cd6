// SPDX-License-Identifier: Apache-2.0
#include "ggctl/schedule_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ggctl/format.h"
#include "ggctl/jobfile/job_file.h"

namespace gg {
namespace {

using Json = nlohmann::ordered_json;

// "0>3 1-2".
std::string Edges(const std::vector<Partners>& table) {
  std::vector<std::string> edges;
  for (Rank r = 0; r < static_cast<Rank>(table.size()); ++r) {
    const Rank to = table[r].send_to;
    if (to < 0) continue;
    const bool swap = table[to].send_to == r;
    if (swap && to < r) continue;
    edges.push_back(absl::StrCat(r, swap ? "-" : ">", to));
  }
  return absl::StrJoin(edges, " ");
}

std::vector<Rank> Resting(const std::vector<Partners>& table) {
  std::vector<Rank> resting;
  for (Rank r = 0; r < static_cast<Rank>(table.size()); ++r) {
    if (table[r] == Partners()) resting.push_back(r);
  }
  return resting;
}

uint64_t RoundOf(const ScheduleView& view, size_t step) {
  return view.round_length == 0 ? 0 : step / static_cast<uint64_t>(view.round_length);
}

// `what` after so many steps.
std::string After(const char* what, const std::optional<uint64_t>& steps) {
  if (!steps) return absl::StrCat("not ", what, " within ", kMostSpreadSteps, " steps");
  return absl::StrCat(what, " after ", *steps, *steps == 1 ? " step" : " steps");
}

Json Number(const std::optional<uint64_t>& steps) {
  return steps ? Json(*steps) : Json(nullptr);
}

std::string Members(const std::vector<Rank>& group) {
  return absl::StrCat("{", absl::StrJoin(group, ","), "}");
}

}  // namespace

ScheduleView ViewSchedule(const PartnerSchedule& schedule, uint64_t seed, bool rotate,
                          uint64_t steps) {
  ScheduleView view;
  view.name = std::string(schedule.name());
  view.size = schedule.size();
  view.seed = seed;
  view.rotate = rotate;
  view.round_length = schedule.round_length();
  for (uint64_t step = 0; step < steps; ++step) {
    view.steps.push_back(schedule.Table(step));
    view.rotations.push_back(schedule.Rotation(step));
  }
  for (Rank r = 0; r < view.size; ++r) {
    std::vector<Rank> group = schedule.GroupOf(r);
    if (group.size() > 1 && group[0] == r) view.groups.push_back(std::move(group));
  }
  view.spread = MeasureSpread(schedule, 0, kMostSpreadSteps);
  return view;
}

std::string Workers(int size) {
  return absl::StrCat(size, size == 1 ? " worker" : " workers");
}

std::string ScheduleToText(const ScheduleView& view) {
  const auto resting = [](const std::vector<Partners>& table) { return !Resting(table).empty(); };
  const bool anybody_rests = std::any_of(view.steps.begin(), view.steps.end(), resting);
  std::vector<std::vector<std::string>> rows = {{"STEP", "ROUND"}};
  if (anybody_rests) rows[0].push_back("RESTING");
  rows[0].push_back("EXCHANGES");
  for (size_t step = 0; step < view.steps.size(); ++step) {
    std::vector<std::string> row = {absl::StrCat(step), absl::StrCat(RoundOf(view, step))};
    if (anybody_rests) row.push_back(absl::StrJoin(Resting(view.steps[step]), ","));
    row.push_back(Edges(view.steps[step]));
    rows.push_back(std::move(row));
  }
  std::string text = absl::StrCat("Schedule:     ", view.name, ", ", Workers(view.size), ", seed ",
                                  view.seed, view.rotate ? "" : ", without rotation", "\n");
  absl::StrAppend(&text, "Round:        ", view.round_length,
                  view.round_length == 1 ? " step\n" : " steps\n");
  if (!view.groups.empty()) {
    absl::StrAppend(&text, "Groups:       ",
                    absl::StrJoin(view.groups, " ",
                                  [](std::string* out, const std::vector<Rank>& group) {
                                    absl::StrAppend(out, Members(group));
                                  }),
                    ", averaged in every step\n");
  }
  absl::StrAppend(&text, "Influenced:   ", After("everybody by everybody", view.spread.influenced),
                  "\nMet directly: ", After("every two", view.spread.met), "\n\n");
  absl::StrAppend(&text, "A>B: A sends to B; A-B: both swap\n\n", Table(rows));
  return text;
}

Json ScheduleToJson(const ScheduleView& view) {
  Json steps = Json::array();
  for (size_t step = 0; step < view.steps.size(); ++step) {
    Json edges = Json::array();
    for (Rank r = 0; r < view.size; ++r) {
      const Rank to = view.steps[step][r].send_to;
      if (to >= 0) edges.push_back({{"from", r}, {"to", to}});
    }
    steps.push_back({{"step", step},
                     {"round", RoundOf(view, step)},
                     {"rotation", view.rotations[step]},
                     {"edges", std::move(edges)},
                     {"resting", Resting(view.steps[step])}});
  }
  return {{"apiVersion", kApiVersion},
          {"kind", "Schedule"},
          {"schedule", view.name},
          {"workers", view.size},
          {"seed", view.seed},
          {"rotate", view.rotate},
          {"round_length", view.round_length},
          {"groups", view.groups},
          {"steps_until_influenced", Number(view.spread.influenced)},
          {"steps_until_met", Number(view.spread.met)},
          {"steps", std::move(steps)}};
}

std::string ScheduleToDot(const ScheduleView& view) {
  std::map<std::pair<Rank, Rank>, std::vector<size_t>> edges;
  for (size_t step = 0; step < view.steps.size(); ++step) {
    for (Rank r = 0; r < view.size; ++r) {
      const Rank to = view.steps[step][r].send_to;
      if (to >= 0) edges[{r, to}].push_back(step);
    }
  }
  std::string text =
      absl::StrCat("digraph \"", view.name, "\" {\n  layout=\"",
                   view.groups.empty() ? "circo" : "fdp", "\";\n  node [shape=circle];\n");
  for (size_t g = 0; g < view.groups.size(); ++g) {
    absl::StrAppend(&text, "  subgraph cluster_", g, " { ", absl::StrJoin(view.groups[g], "; "),
                    "; }\n");
  }
  for (Rank r = 0; r < view.size && view.groups.empty(); ++r)
    absl::StrAppend(&text, "  ", r, ";\n");
  for (const auto& [edge, steps] : edges) {
    absl::StrAppend(&text, "  ", edge.first, " -> ", edge.second, " [label=\"",
                    absl::StrJoin(steps, ","), "\"];\n");
  }
  absl::StrAppend(&text, "}\n");
  return text;
}

}  // namespace gg
