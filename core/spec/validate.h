// SPDX-License-Identifier: Apache-2.0
//
// Whether a job makes sense: ranges and choices of every field by the table (core/spec/schema.h),
// then the rules that span fields. The command line, the coordinator and the tests all ask here.
// Whether files exist, and whether a network can be built for the images in them, is found out by
// the workers.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_CORE_SPEC_VALIDATE_H_
#define GOSSIPGRAD_CORE_SPEC_VALIDATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/spec/job_spec.h"

namespace gg {

struct FieldError {
  std::string path;        // "spec.exchange.schedule"
  std::string message;     // what is wrong, with the value
  std::string suggestion;  // what to do; "" = nothing better than the message
  friend bool operator==(const FieldError&, const FieldError&) = default;
};

// Every problem at once, in the order of the table; empty = good.
std::vector<FieldError> Validate(const JobSpec& spec);

// Legal, but seldom what was wanted.
std::vector<FieldError> Warnings(const JobSpec& spec);

// The fewest samples of a training step that the network can be trained with: batch normalisation needs two.
int64_t LeastBatch(const ModelSpec& model);

// "spec.train.epochs: must be ... (got 0); suggestion".
std::string ToString(const FieldError& error);

// OK, or kInvalidArgument with all problems in one message.
absl::Status ToStatus(const std::vector<FieldError>& errors);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SPEC_VALIDATE_H_
