// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/cluster_state.h"

namespace gg {

const Job* FindJobById(const ClusterState& state, absl::string_view id) {
  const auto number = state.job_number.find(std::string(id));
  if (number == state.job_number.end()) return nullptr;
  return &state.jobs.at(number->second);
}

const Job* FindJob(const ClusterState& state, absl::string_view name_or_id) {
  if (const Job* job = FindJobById(state, name_or_id)) return job;
  for (auto it = state.jobs.rbegin(); it != state.jobs.rend(); ++it) {
    if (it->second.spec.name == name_or_id) return &it->second;
  }
  return nullptr;
}

}  // namespace gg
