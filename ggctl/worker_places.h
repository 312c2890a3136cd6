// SPDX-License-Identifier: Apache-2.0
//
// --topology of the verbs that run a cluster of their own: where its workers stand.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_WORKER_PLACES_H_
#define GOSSIPGRAD_GGCTL_WORKER_PLACES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace gg {

// The labels of the workers, in the order of the workers, by the name of the label.
using WorkerPlaces = std::map<std::string, std::vector<std::string>>;

void AddPlacesOption(CLI::App& app, std::vector<std::string>* texts);

// Of "rack=0,0,1,1" and the like. kInvalidArgument names the option: a place that is no label, not as
// many places as `workers`, twice the same name.
absl::StatusOr<WorkerPlaces> ParseWorkerPlaces(const std::vector<std::string>& texts,
                                               int64_t workers);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_WORKER_PLACES_H_
