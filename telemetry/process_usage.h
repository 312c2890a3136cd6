// SPDX-License-Identifier: Apache-2.0
//
// The numbers behind Prometheus' standard process_* metrics, read from /proc when asked for.
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_TELEMETRY_PROCESS_USAGE_H_
#define GOSSIPGRAD_TELEMETRY_PROCESS_USAGE_H_

namespace gg {

// A value that could not be read is negative.
struct ProcessUsage {
  double cpu_seconds = -1;  // user and system time since the start
  double resident_bytes = -1;
  double virtual_bytes = -1;
  double open_fds = -1;
  double max_fds = -1;
  double start_time_seconds = -1;  // since the Unix epoch
  double threads = -1;
};

ProcessUsage ReadProcessUsage();

}  // namespace gg

#endif  // GOSSIPGRAD_TELEMETRY_PROCESS_USAGE_H_
