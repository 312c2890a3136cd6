// SPDX-License-Identifier: Apache-2.0
//
// What the tables of `get` and `describe` hold: the head, then a row for each thing. Table() lays
// them out. Thread-safety: pure functions, but for the clock that ages are counted by.
#ifndef GOSSIPGRAD_GGCTL_TABLES_H_
#define GOSSIPGRAD_GGCTL_TABLES_H_

#include <string>
#include <vector>

#include "gossipgrad/v1/job.pb.h"

namespace gg {

using Rows = std::vector<std::vector<std::string>>;

Rows JobTable(const std::vector<gossipgrad::v1::Job>& jobs, bool wide);
Rows WorkerTable(const std::vector<gossipgrad::v1::WorkerStatus>& workers, bool wide);
// The workers of one job, in rank order.
Rows MemberTable(const gossipgrad::v1::Job& job, bool wide);
// Where the time went, mean over the workers.
Rows PhaseTable(const gossipgrad::v1::JobResult& result);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_TABLES_H_
