// SPDX-License-Identifier: Apache-2.0
#include "coordinator/daemon/port_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace gg {

absl::Status WritePortFile(const std::string& path, const std::string& grpc_address,
                           const std::string& http_address) {
  const std::string draft = absl::StrCat(path, ".", getpid());
  std::ofstream file(draft, std::ios::trunc);
  file << absl::StrCat("{\"grpc\":\"", grpc_address, "\",\"http\":\"", http_address,
                       "\",\"pid\":", getpid(), "}\n");
  file.close();
  if (!file || std::rename(draft.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    unlink(draft.c_str());
    return absl::UnavailableError(absl::StrCat("port file ", path, ": cannot be written: ", why));
  }
  return absl::OkStatus();
}

}  // namespace gg
