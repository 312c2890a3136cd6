// SPDX-License-Identifier: Apache-2.0
//
// A private folder (mode 0700) that is removed, with all it holds, when the object goes.
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_GGCTL_CLUSTER_TEMP_FOLDER_H_
#define GOSSIPGRAD_GGCTL_CLUSTER_TEMP_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace gg {

class TempFolder {
 public:
  // Below `parent`, which must exist.
  static absl::StatusOr<std::unique_ptr<TempFolder>> Make(const std::string& parent);
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  void Keep() { keep_ = true; }

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
  bool keep_ = false;
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_CLUSTER_TEMP_FOLDER_H_
