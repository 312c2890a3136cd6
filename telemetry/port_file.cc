// SPDX-License-Identifier: Apache-2.0
#include "telemetry/port_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace gg {

absl::Status WritePortFile(
    const std::string& path,
    std::initializer_list<std::pair<absl::string_view, std::string>> addresses) {
  nlohmann::ordered_json json;
  for (const auto& [name, address] : addresses) json[std::string(name)] = address;
  json["pid"] = getpid();
  const std::string draft = absl::StrCat(path, ".", getpid(), ".tmp");
  std::ofstream file(draft, std::ios::trunc);
  file << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  if (file && std::rename(draft.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const std::string why = std::strerror(errno);
  unlink(draft.c_str());
  return absl::UnavailableError(absl::StrCat("port file ", path, " cannot be written: ", why));
}

}  // namespace gg
