// SPDX-License-Identifier: Apache-2.0
#include "telemetry/process_usage.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gg {
namespace {

std::string ReadAll(const char* path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// Seconds since the Unix epoch at which the machine came up; negative when unknown.
double BootTime() {
  for (absl::string_view line : absl::StrSplit(ReadAll("/proc/stat"), '\n')) {
    double seconds = 0;
    if (absl::ConsumePrefix(&line, "btime ") && absl::SimpleAtod(line, &seconds)) return seconds;
  }
  return -1;
}

double CountOpenFds() {
  DIR* dir = opendir("/proc/self/fd");
  if (dir == nullptr) return -1;
  int count = -1;  // the folder's own descriptor
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(dir);
  return count;
}

}  // namespace

ProcessUsage ReadProcessUsage() {
  ProcessUsage usage;
  usage.open_fds = CountOpenFds();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) usage.max_fds = static_cast<double>(limit.rlim_cur);

  // The second field is the program's name in parentheses and may hold anything; count from the
  // last one.
  const std::string stat = ReadAll("/proc/self/stat");
  const size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) return usage;
  const std::vector<std::string> fields =
      absl::StrSplit(absl::string_view(stat).substr(after_name + 1), ' ', absl::SkipEmpty());
  // proc(5) numbers the fields from 1; fields[0] is number 3.
  const auto field = [&fields](size_t number) {
    double value = -1;
    if (number - 3 < fields.size() && absl::SimpleAtod(fields[number - 3], &value)) return value;
    return -1.0;
  };
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (field(14) >= 0 && field(15) >= 0) usage.cpu_seconds = (field(14) + field(15)) / ticks;
  usage.threads = field(20);
  const double boot = BootTime();
  if (field(22) >= 0 && boot >= 0) usage.start_time_seconds = boot + field(22) / ticks;
  usage.virtual_bytes = field(23);
  if (field(24) >= 0) {
    usage.resident_bytes = field(24) * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
  return usage;
}

}  // namespace gg
