// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "core/schedule/schedule.h"

namespace gg {

uint64_t ScheduleFingerprint(const PartnerSchedule& schedule, int steps) {
  std::string text = absl::StrCat(schedule.name(), " ", schedule.size());
  for (int step = 0; step < steps; ++step) {
    for (const Partners& partners : schedule.Table(static_cast<uint64_t>(step))) {
      absl::StrAppend(&text, " ", partners.send_to, ",", partners.recv_from);
    }
  }
  return StableHash(text);
}

}  // namespace gg
