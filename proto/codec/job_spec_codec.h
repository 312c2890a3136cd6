// SPDX-License-Identifier: Apache-2.0
//
// JobSpec on the wire and back. An absent optional field, and an empty list, mean the default of
// gg::JobSpec; fields that this version does not know are dropped. Ranges are not checked here:
// that is core/spec's Validate. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_PROTO_CODEC_JOB_SPEC_CODEC_H_
#define GOSSIPGRAD_PROTO_CODEC_JOB_SPEC_CODEC_H_

#include "core/spec/job_spec.h"
#include "gossipgrad/v1/job.pb.h"

namespace gg {

// Every field is written, defaults too, so that a reader with other defaults sees what was meant.
gossipgrad::v1::JobSpec ToProto(const JobSpec& spec);
JobSpec FromProto(const gossipgrad::v1::JobSpec& proto);

}  // namespace gg

#endif  // GOSSIPGRAD_PROTO_CODEC_JOB_SPEC_CODEC_H_
