// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "ggctl/jobfile/job_file.h"

namespace gg {

absl::StatusOr<JobFileInput> ReadJobFile(const std::string& path) {
  JobFileInput input;
  std::error_code ignored;
  input.current_folder = std::filesystem::current_path(ignored).string();
  const auto read = [&](std::istream& in) {
    // One byte over the limit is enough to know that it is too large.
    input.text.resize(kMaxJobFileBytes + 1);
    in.read(input.text.data(), static_cast<std::streamsize>(input.text.size()));
    input.text.resize(static_cast<size_t>(in.gcount()));
  };
  if (path == "-") {
    input.name = "standard input";
    input.folder = input.current_folder;
    read(std::cin);
    return input;
  }
  input.name = path;
  const std::filesystem::path file(path);
  if (std::filesystem::is_directory(file, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder, expected a job file"));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const int error = errno;
    const std::string message = absl::StrCat(path, ": cannot be opened: ", std::strerror(error));
    return error == EACCES ? absl::PermissionDeniedError(message) : absl::NotFoundError(message);
  }
  read(in);
  input.folder = std::filesystem::absolute(file, ignored).parent_path().string();
  return input;
}

}  // namespace gg
