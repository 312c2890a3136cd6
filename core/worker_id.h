// SPDX-License-Identifier: Apache-2.0
//
// What a worker may be called, and the labels that say where it stands. The id is a label of metrics,
// a word of tables and a part of file names; labels are words of tables and messages.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_CORE_WORKER_ID_H_
#define GOSSIPGRAD_CORE_WORKER_ID_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gg {

// OK for 1 .. 253 letters, digits, '-', '_' and '.', beginning with a letter or digit: every host name
// is one. kInvalidArgument says what is wrong.
absl::Status CheckWorkerId(absl::string_view id);

// OK for at most 16 labels whose names and values are made like worker ids.
absl::Status CheckTopology(const std::map<std::string, std::string>& labels);

// Adds the label "rack=3" to `labels`. kInvalidArgument: no '=', a word that is not allowed, or a
// name that is there already.
absl::Status AddTopologyLabel(absl::string_view text, std::map<std::string, std::string>& labels);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_WORKER_ID_H_
