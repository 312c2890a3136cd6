// SPDX-License-Identifier: Apache-2.0
//
// What a worker may be called. The id is a label of metrics, a word of tables and a part of file names.
// Thread-safety: pure function.
#ifndef GOSSIPGRAD_CORE_WORKER_ID_H_
#define GOSSIPGRAD_CORE_WORKER_ID_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gg {

// OK for 1 .. 253 letters, digits, '-', '_' and '.', beginning with a letter or digit: every host name
// is one. kInvalidArgument says what is wrong.
absl::Status CheckWorkerId(absl::string_view id);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_WORKER_ID_H_
