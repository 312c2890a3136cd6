// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/environment.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace gg {

void EnsureOpenMpEnvironment(int threads, char** argv) {
  const std::string wanted = absl::StrCat(threads);
  const char* have = getenv("OMP_NUM_THREADS");
  const bool threads_right = have != nullptr && wanted == have;
  if (threads_right && getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_NUM_THREADS", wanted.c_str(), /*overwrite=*/1);
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
  // By its real path: the process would be called "exe" otherwise.
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return;
  path[length] = '\0';
  execv(path, argv);
}

}  // namespace gg
