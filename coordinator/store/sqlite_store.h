// SPDX-License-Identifier: Apache-2.0
//
// The store in one SQLite file (write-ahead log, synchronous=FULL). The file is locked for as long
// as the store is open; the lock goes with the process, however it ends. Thread-safety:
// thread-compatible.
#ifndef GOSSIPGRAD_COORDINATOR_STORE_SQLITE_STORE_H_
#define GOSSIPGRAD_COORDINATOR_STORE_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/store/job_store.h"

namespace gg {

inline constexpr int kStoreSchemaVersion = 1;

struct SqliteStoreOptions {
  std::string path;
  // How long to wait for another process to let go of the file.
  absl::Duration busy_timeout = absl::Seconds(3);
};

// Creates the file when it is not there. Errors name the path and say what to do:
// kPermissionDenied / kNotFound: cannot be opened or written. kUnavailable: another coordinator has
// it. kDataLoss: not a store, or damaged. kFailedPrecondition: written by a newer version.
absl::StatusOr<std::unique_ptr<JobStore>> OpenSqliteStore(const SqliteStoreOptions& options);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STORE_SQLITE_STORE_H_
