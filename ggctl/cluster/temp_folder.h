// SPDX-License-Identifier: Apache-2.0
//
// A private folder (mode 0700) that is removed, with all it holds, when the object goes. Of a process
// that was killed it stays behind; the next one removes it: as long as its owner lives, the owner
// holds a lock on the file "lock" in it, and the kernel drops a lock with the process.
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_GGCTL_CLUSTER_TEMP_FOLDER_H_
#define GOSSIPGRAD_GGCTL_CLUSTER_TEMP_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace gg {

class TempFolder {
 public:
  // Below `parent`, which must exist. kUnavailable when it cannot be made.
  static absl::StatusOr<std::unique_ptr<TempFolder>> Make(const std::string& parent);
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // Removes the folders below `parent` that were made by Make() and whose owner is gone. Only real
  // folders of this user with a lock file that nobody holds; links are not followed. Returns how many
  // went; what cannot be looked at or removed stays.
  static int RemoveAbandoned(const std::string& parent);

  const std::string& path() const { return path_; }
  // Leaves the folder behind, for good.
  void Keep();

 private:
  TempFolder(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}
  const std::string path_;
  int lock_fd_;
  bool keep_ = false;
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_CLUSTER_TEMP_FOLDER_H_
