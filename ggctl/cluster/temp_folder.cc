// SPDX-License-Identifier: Apache-2.0
#include "ggctl/cluster/temp_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gg {
namespace {

constexpr absl::string_view kPrefix = "ggctl-";
constexpr absl::string_view kPlaces = "XXXXXX";
constexpr char kLock[] = "lock";

// The lock file appears under its name when it is locked already: whoever finds one that is free
// knows that its owner is gone. -1 when it cannot be made.
int MakeLock(const std::string& folder) {
  const std::string early = absl::StrCat(folder, "/", kLock, ".new");
  const int fd = open(early.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return -1;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 &&
      rename(early.c_str(), absl::StrCat(folder, "/", kLock).c_str()) == 0)
    return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Whether `folder` in the folder `parent_fd` was left by an owner that is gone. Then `*lock_fd` holds
// its lock, so that no two processes remove it at once.
bool IsAbandoned(int parent_fd, const char* folder, int* lock_fd) {
  const int fd = openat(parent_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info = {};
  const bool ours = fstat(fd, &info) == 0 && info.st_uid == geteuid();
  *lock_fd = ours ? openat(fd, kLock, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
  close(fd);
  if (*lock_fd < 0) return false;
  if (fstat(*lock_fd, &info) == 0 && S_ISREG(info.st_mode) &&
      flock(*lock_fd, LOCK_EX | LOCK_NB) == 0)
    return true;
  close(*lock_fd);
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TempFolder>> TempFolder::Make(const std::string& parent) {
  std::string path = absl::StrCat(parent, "/", kPrefix, kPlaces);
  if (mkdtemp(path.data()) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot make a folder in ", parent, ": ", std::strerror(errno)));
  }
  const int lock_fd = MakeLock(path);
  const int error = errno;
  auto folder = std::unique_ptr<TempFolder>(new TempFolder(std::move(path), lock_fd));
  if (lock_fd >= 0) return folder;
  return absl::UnavailableError(
      absl::StrCat("cannot make a file in ", folder->path(), ": ", std::strerror(error)));
}

void TempFolder::Keep() {
  keep_ = true;
  unlink(absl::StrCat(path_, "/", kLock).c_str());  // without it nobody takes it for abandoned
}

TempFolder::~TempFolder() {
  if (!keep_) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  if (lock_fd_ >= 0) close(lock_fd_);
}

int TempFolder::RemoveAbandoned(const std::string& parent) {
  DIR* const dir = opendir(parent.c_str());
  if (dir == nullptr) return 0;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir)) {
    const absl::string_view name = entry->d_name;
    if (absl::StartsWith(name, kPrefix) && name.size() == kPrefix.size() + kPlaces.size())
      names.emplace_back(name);
  }
  int removed = 0;
  for (const std::string& name : names) {
    int lock_fd = -1;
    if (!IsAbandoned(dirfd(dir), name.c_str(), &lock_fd)) continue;
    std::error_code error;
    std::filesystem::remove_all(absl::StrCat(parent, "/", name), error);
    if (!error) ++removed;
    close(lock_fd);
  }
  closedir(dir);
  return removed;
}

}  // namespace gg
