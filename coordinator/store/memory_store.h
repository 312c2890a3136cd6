// SPDX-License-Identifier: Apache-2.0
//
// A store that lives as long as the process: for tests and for a cluster of one evening.
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_COORDINATOR_STORE_MEMORY_STORE_H_
#define GOSSIPGRAD_COORDINATOR_STORE_MEMORY_STORE_H_

#include <memory>

#include "coordinator/store/job_store.h"

namespace gg {

std::unique_ptr<JobStore> MakeMemoryStore();

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_STORE_MEMORY_STORE_H_
