// SPDX-License-Identifier: Apache-2.0
#include "core/worker_id.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr size_t kMostLabels = 16;

absl::Status CheckWord(absl::string_view what, absl::string_view id) {
  constexpr size_t kLongest = 253;
  if (id.empty()) return absl::InvalidArgumentError(absl::StrCat("a ", what, " must not be empty"));
  if (id.size() > kLongest) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", what, " of ", id.size(), " characters, at most ", kLongest, " may be"));
  }
  const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(id[0])) &&
                     std::all_of(id.begin(), id.end(), [](char c) {
                       return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
                              c == '_' || c == '.';
                     });
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", absl::CHexEscape(id),
                   "\": use letters, digits, '-', '_' and '.', beginning with a letter or digit"));
}

}  // namespace

absl::Status CheckWorkerId(absl::string_view id) {
  return CheckWord("worker id", id);
}

absl::Status CheckTopology(const std::map<std::string, std::string>& labels) {
  if (labels.size() > kMostLabels) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.size(), " topology labels, at most ", kMostLabels, " may be"));
  }
  for (const auto& [name, value] : labels) {
    GG_RETURN_IF_ERROR(CheckWord("topology name", name));
    GG_RETURN_IF_ERROR(Annotate(CheckWord("topology value", value), name));
  }
  return absl::OkStatus();
}

absl::Status AddTopologyLabel(absl::string_view text, std::map<std::string, std::string>& labels) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", absl::CHexEscape(text), "\": expected NAME=VALUE such as rack=3"));
  }
  const std::string name(text.substr(0, equals));
  if (!labels.emplace(name, std::string(text.substr(equals + 1))).second) {
    return absl::InvalidArgumentError(absl::StrCat("topology ", name, " is given twice"));
  }
  return CheckTopology(labels);
}

}  // namespace gg
