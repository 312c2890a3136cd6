// SPDX-License-Identifier: Apache-2.0
#include "worker/data/formats/data_folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gg {
namespace {

namespace fs = std::filesystem;

// "is empty", or the first names in alphabetical order.
std::string DescribeContent(const std::string& folder) {
  constexpr size_t kShown = 6;
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return absl::StrCat("cannot be listed (", error.message(), ")");
  if (names.empty()) return "is empty";
  std::sort(names.begin(), names.end());
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  std::string text = absl::StrCat("holds ", absl::StrJoin(names, ", "));
  if (more > 0) absl::StrAppend(&text, " and ", more, " more");
  return text;
}

}  // namespace

absl::StatusOr<std::string> FindDataFile(const std::string& folder,
                                         absl::Span<const std::string> names,
                                         absl::string_view remedy) {
  if (folder.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.path is empty; set it to the folder that holds ", names.front(), "; ", remedy));
  }
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(folder, ": no such folder (data.path); ", remedy));
  }
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat(folder, ": cannot examine the folder (data.path)"));
  }
  if (status.type() != fs::file_type::directory) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": is not a folder; data.path must name the folder that holds ", names.front()));
  }
  for (const std::string& name : names) {
    const fs::path path = fs::path(folder) / name;
    // A link that leads nowhere counts as there: opening it tells more than "not found" would.
    if (fs::symlink_status(path, error).type() > fs::file_type::not_found) return path.string();
  }
  return absl::NotFoundError(absl::StrCat(folder, ": found none of ", absl::StrJoin(names, ", "),
                                          "; the folder ", DescribeContent(folder), "; ", remedy));
}

}  // namespace gg
