// SPDX-License-Identifier: Apache-2.0
//
// Finds the files of a data set in the folder that the job names.
// Thread-safety: pure functions of the file system.
#ifndef GOSSIPGRAD_WORKER_DATA_FORMATS_DATA_FOLDER_H_
#define GOSSIPGRAD_WORKER_DATA_FORMATS_DATA_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gg {

// The path of the first of `names` that exists in `folder`. kNotFound says what was looked for and
// what lies there instead, and closes with `remedy`; kInvalidArgument: no folder named, or not a
// folder.
absl::StatusOr<std::string> FindDataFile(const std::string& folder,
                                         absl::Span<const std::string> names,
                                         absl::string_view remedy);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DATA_FORMATS_DATA_FOLDER_H_
