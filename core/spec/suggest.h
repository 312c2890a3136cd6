// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean": the nearest of a few known words, for misspelt fields, values, verbs and job
// names. Thread-safety: pure functions.
#ifndef GOSSIPGRAD_CORE_SPEC_SUGGEST_H_
#define GOSSIPGRAD_CORE_SPEC_SUGGEST_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gg {

// Insertions, deletions, substitutions and swaps of neighbours, each counted 1; case, '-' and '_'
// do not count.
int EditDistance(absl::string_view a, absl::string_view b);

// The candidate nearest to `word` if it is near enough to be a slip of the hand, else "". Ties: the
// first.
std::string Nearest(absl::string_view word, absl::Span<const std::string> candidates);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SPEC_SUGGEST_H_
