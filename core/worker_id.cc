// SPDX-License-Identifier: Apache-2.0
#include "core/worker_id.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace gg {

absl::Status CheckWorkerId(absl::string_view id) {
  constexpr size_t kLongest = 253;
  if (id.empty()) return absl::InvalidArgumentError("a worker id must not be empty");
  if (id.size() > kLongest) {
    return absl::InvalidArgumentError(
        absl::StrCat("a worker id of ", id.size(), " characters, at most ", kLongest, " may be"));
  }
  const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(id[0])) &&
                     std::all_of(id.begin(), id.end(), [](char c) {
                       return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
                              c == '_' || c == '.';
                     });
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("worker id \"", absl::CHexEscape(id),
                   "\": use letters, digits, '-', '_' and '.', beginning with a letter or digit"));
}

}  // namespace gg
