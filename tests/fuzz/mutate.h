// SPDX-License-Identifier: Apache-2.0
//
// Seeded damage to an input: flipped bits, cut and repeated ranges, extreme numbers, parts of
// another input. Thread-safety: thread-compatible (the Rng).
#ifndef GOSSIPGRAD_TESTS_FUZZ_MUTATE_H_
#define GOSSIPGRAD_TESTS_FUZZ_MUTATE_H_

#include <cstdint>
#include <vector>

#include "core/rng.h"

namespace gg {

using FuzzInput = std::vector<uint8_t>;

// `input` after one to four changes, at most `most_bytes` long. `other` is any input of the corpus.
FuzzInput Mutate(FuzzInput input, const FuzzInput& other, size_t most_bytes, Rng& rng);

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_FUZZ_MUTATE_H_
