// SPDX-License-Identifier: Apache-2.0
//
// A folder for one test's store, removed with everything in it.
#ifndef GOSSIPGRAD_TESTS_UNIT_COORDINATOR_STORE_TEMP_FILE_H_
#define GOSSIPGRAD_TESTS_UNIT_COORDINATOR_STORE_TEMP_FILE_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gg {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gg-store-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name = "store.db") const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_COORDINATOR_STORE_TEMP_FILE_H_
