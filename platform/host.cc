// SPDX-License-Identifier: Apache-2.0
#include "platform/host.h"

#include <unistd.h>
#include <climits>

#include <fstream>

namespace gg {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown";
  return name;
}

std::string BootId() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

std::string ExecutableFolder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof path) return "";
  const std::string whole(path, static_cast<size_t>(length));
  const size_t slash = whole.rfind('/');
  return slash == std::string::npos ? "" : slash == 0 ? "/" : whole.substr(0, slash);
}

}  // namespace gg
