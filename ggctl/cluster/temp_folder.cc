// SPDX-License-Identifier: Apache-2.0
#include "ggctl/cluster/temp_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gg {

absl::StatusOr<std::unique_ptr<TempFolder>> TempFolder::Make(const std::string& parent) {
  std::string path = absl::StrCat(parent, "/ggctl-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot make a folder in ", parent, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<TempFolder>(new TempFolder(std::move(path)));
}

TempFolder::~TempFolder() {
  if (keep_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace gg
