// SPDX-License-Identifier: Apache-2.0
//
// The schedule that a job asks for, with what it needs besides the job: the graph file, and where the
// workers are.
// Thread-safety: pure but for the file.
#ifndef GOSSIPGRAD_WORKER_EXCHANGE_SCHEDULE_OF_H_
#define GOSSIPGRAD_WORKER_EXCHANGE_SCHEDULE_OF_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "core/ids.h"
#include "core/schedule/schedule.h"
#include "core/spec/job_spec.h"

namespace gg {

// `view` may be null for one worker. Errors of MakeSchedule, of the graph file, of labels that
// are missing.
absl::StatusOr<std::unique_ptr<PartnerSchedule>> ScheduleOf(const ExchangeSpec& spec, uint64_t seed,
                                                            int size, const View* view);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_EXCHANGE_SCHEDULE_OF_H_
