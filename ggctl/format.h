// SPDX-License-Identifier: Apache-2.0
//
// Values as people read them, and tables.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_FORMAT_H_
#define GOSSIPGRAD_GGCTL_FORMAT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"
#include "gossipgrad/v1/job.pb.h"

namespace gg {

// "Running", "Succeeded", ...
std::string StateName(gossipgrad::v1::JobState state);

// "42s", "3m12s", "5h04m", "3d2h"; negative = "<unknown>".
std::string ShortDuration(double seconds);

// "90.3%".
std::string Percent(double fraction, int digits = 1);

// Three or so significant digits, with the unit's prefix: "1.23 MB", "456 B".
std::string Bytes(double bytes);

// "12,345".
std::string Thousands(double value);

// RFC 3339 in UTC with milliseconds; "" when the message was never set.
std::string Rfc3339(const google::protobuf::Timestamp& time);
absl::Time ToTime(const google::protobuf::Timestamp& time);

// "10s", "1m30s", or plain seconds: finite, 0 or more. False for anything else.
bool ParseTimeout(const std::string& text, absl::Duration* out);

// Columns two spaces apart, the last one not padded; an empty cell shows "<none>", and control
// characters in a cell '?'. The first row is the head.
std::string Table(const std::vector<std::vector<std::string>>& rows);

// Numbers inside names count as numbers: "worker-2" before "worker-10".
bool NaturalLess(absl::string_view a, absl::string_view b);

// The name in "job/NAME", the form that verbs print, or `given` as it is.
std::string BareName(const std::string& given);

// `text` broken at spaces to lines of at most `width` characters, each after `indent` spaces.
std::string Wrapped(absl::string_view text, int indent, int width);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_FORMAT_H_
