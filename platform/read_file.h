// SPDX-License-Identifier: Apache-2.0
//
// Small files that users write.
// Thread-safety: pure but for the file.
#ifndef GOSSIPGRAD_PLATFORM_READ_FILE_H_
#define GOSSIPGRAD_PLATFORM_READ_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace gg {

// kNotFound, kPermissionDenied, kUnavailable: it cannot be read; kInvalidArgument: a folder, or longer
// than `most_bytes`. All name the path.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t most_bytes);

}  // namespace gg

#endif  // GOSSIPGRAD_PLATFORM_READ_FILE_H_
