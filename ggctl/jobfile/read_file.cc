// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ggctl/jobfile/job_file.h"

namespace gg {
namespace {

absl::Status Read(FILE* in, JobFileInput* input) {
  // One byte over the limit is enough to know that it is too large.
  input->text.resize(kMaxJobFileBytes + 1);
  errno = 0;
  input->text.resize(fread(input->text.data(), 1, input->text.size(), in));
  if (ferror(in) == 0) return absl::OkStatus();
  // What was read so far must not pass for the whole.
  return absl::UnavailableError(
      absl::StrCat(input->name, ": cannot be read: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<JobFileInput> ReadJobFile(const std::string& path) {
  JobFileInput input;
  std::error_code ignored;
  input.current_folder = std::filesystem::current_path(ignored).string();
  if (path == "-") {
    input.name = "standard input";
    input.folder = input.current_folder;
    GG_RETURN_IF_ERROR(Read(stdin, &input));
    return input;
  }
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "-f: the name of the job file is empty; name a file, or - for "
        "standard input");
  }
  input.name = path;
  const std::filesystem::path file(path);
  if (std::filesystem::is_directory(file, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder, expected a job file"));
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> in(fopen(path.c_str(), "rbe"), fclose);
  if (in == nullptr) {
    const int error = errno;
    const std::string message = absl::StrCat(path, ": cannot be opened: ", std::strerror(error));
    return error == EACCES ? absl::PermissionDeniedError(message) : absl::NotFoundError(message);
  }
  GG_RETURN_IF_ERROR(Read(in.get(), &input));
  input.folder = std::filesystem::absolute(file, ignored).parent_path().string();
  return input;
}

}  // namespace gg
