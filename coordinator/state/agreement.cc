// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/agreement.h"

#include <cstddef>
#include <map>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

struct Aspect {
  absl::string_view name;
  uint64_t (*value)(const PreparedReport&);
  bool as_hex;
};

constexpr Aspect kAspects[] = {
    {"schedule fingerprint", [](const PreparedReport& r) { return r.schedule_fingerprint; }, true},
    {"data fingerprint", [](const PreparedReport& r) { return r.data_fingerprint; }, true},
    {"model fingerprint", [](const PreparedReport& r) { return r.model_fingerprint; }, true},
    {"parameter count", [](const PreparedReport& r) { return r.parameter_count; }, false},
    {"number of steps per epoch", [](const PreparedReport& r) { return r.steps_per_epoch; }, false},
    {"total number of steps", [](const PreparedReport& r) { return r.total_steps; }, false},
};

std::string Text(const Aspect& aspect, uint64_t value) {
  return aspect.as_hex ? absl::StrCat(absl::Hex(value, absl::kZeroPad16)) : absl::StrCat(value);
}

}  // namespace

Disagreement FindDisagreement(const Job& job) {
  for (const Aspect& aspect : kAspects) {
    std::map<uint64_t, size_t> votes;
    for (const JobMember& member : job.members) ++votes[aspect.value(*member.prepared)];
    if (votes.size() <= 1) continue;
    uint64_t common = aspect.value(*job.members[0].prepared);
    for (const auto& [value, count] : votes) {
      if (count > votes[common]) common = value;
    }
    for (Rank rank = 0; rank < static_cast<Rank>(job.members.size()); ++rank) {
      const uint64_t value = aspect.value(*job.members[rank].prepared);
      if (value == common) continue;
      return {rank, absl::StrCat("the ", aspect.name, " of ", Describe(job, rank), " is ",
                                 Text(aspect, value), ", but ", votes[common], " of ",
                                 job.members.size(), " workers have ", Text(aspect, common),
                                 ": they would not train the same thing")};
    }
  }
  return {};
}

}  // namespace gg
