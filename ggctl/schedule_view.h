// SPDX-License-Identifier: Apache-2.0
//
// What a partner schedule does in its first steps, and the forms in which that is shown.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_SCHEDULE_VIEW_H_
#define GOSSIPGRAD_GGCTL_SCHEDULE_VIEW_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/schedule/influence.h"
#include "core/schedule/schedule.h"

namespace gg {

struct ScheduleView {
  std::string name;
  int size = 0;
  uint64_t seed = 0;
  bool rotate = true;
  int round_length = 0;
  std::vector<std::vector<Partners>> steps;  // from step 0 on
  std::vector<std::vector<Rank>> rotations;  // of the same steps
  std::vector<std::vector<Rank>> groups;     // of more than one worker
  Spread spread;                             // from step 0 on
};

// How far the spread is followed.
inline constexpr uint64_t kMostSpreadSteps = 20000;

ScheduleView ViewSchedule(const PartnerSchedule& schedule, uint64_t seed, bool rotate,
                          uint64_t steps);

// "1 worker", "4 workers".
std::string Workers(int size);

// For people: a line per step in the words of a graph file, then the spread.
std::string ScheduleToText(const ScheduleView& view);
nlohmann::ordered_json ScheduleToJson(const ScheduleView& view);
// A directed graph whose edges are labelled with the steps in which they are used.
std::string ScheduleToDot(const ScheduleView& view);
// The ranks on a circle, which is larger for many, and a panel per step: the first 32, with a note
// where there are more. Self-contained, for light and dark pages.
std::string ScheduleToSvg(const ScheduleView& view);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_SCHEDULE_VIEW_H_
