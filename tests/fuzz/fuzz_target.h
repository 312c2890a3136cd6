// SPDX-License-Identifier: Apache-2.0
//
// What a fuzz target defines. It feeds one input to a parser and calls std::abort() when something
// that must hold does not; whatever the input, it returns soon. The same input gives the same run.
// Thread-safety: called by one thread at a time.
#ifndef GOSSIPGRAD_TESTS_FUZZ_FUZZ_TARGET_H_
#define GOSSIPGRAD_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>

namespace gg {

int FuzzOne(const uint8_t* data, size_t size);

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_FUZZ_FUZZ_TARGET_H_
