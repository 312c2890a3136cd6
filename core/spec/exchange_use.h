// SPDX-License-Identifier: Apache-2.0
//
// Which methods (spec.exchange.algorithm) read which settings of the exchange: the one table that warnings, help texts and
// workers go by. Paths are those of core/spec/schema.h; a field without an entry in exchange_use.cc is read by all.
// Thread-safety: pure functions over immutable data.
#ifndef GOSSIPGRAD_CORE_SPEC_EXCHANGE_USE_H_
#define GOSSIPGRAD_CORE_SPEC_EXCHANGE_USE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/spec/job_spec.h"

namespace gg {

// "" where the chosen method reads the field; else the rest of "has no effect ...": "with allreduce", or what it would take,
// "with sgp unless spec.exchange.overlap is step".
std::string WhyUnused(const ExchangeSpec& exchange, absl::string_view path);

inline bool IsUsed(const ExchangeSpec& exchange, absl::string_view path) {
  return WhyUnused(exchange, path).empty();
}

// "Used by gossip-grad and sgp."; "" where all methods read the field.
std::string UseSentence(absl::string_view path);

// The fields that some methods do not read.
std::vector<absl::string_view> FieldsOfSomeMethods();

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SPEC_EXCHANGE_USE_H_
