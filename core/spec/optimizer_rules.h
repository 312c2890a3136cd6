// SPDX-License-Identifier: Apache-2.0
//
// What an optimizer asks of the rest of a job, and of the learning rate: the rules that span
// fields. Which numbers a field takes is in the table. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_CORE_SPEC_OPTIMIZER_RULES_H_
#define GOSSIPGRAD_CORE_SPEC_OPTIMIZER_RULES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "core/spec/job_spec.h"
#include "core/spec/validate.h"

namespace gg {

// adam, adamw, lamb: a second moment, which must not become negative or zero by rounding.
bool HasSecondMoment(const OptimizerSpec& optimizer);
// lars, lamb: steps that depend on the norms of whole layers.
bool NeedsWholeLayers(const OptimizerSpec& optimizer);

// The job cannot work.
std::vector<FieldError> OptimizerErrors(const JobSpec& spec);
// Fields that have no effect.
std::vector<FieldError> OptimizerWarnings(const JobSpec& spec);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SPEC_OPTIMIZER_RULES_H_
