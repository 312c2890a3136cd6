// SPDX-License-Identifier: Apache-2.0
//
// Never returns: what the driver's watchdog is tried on (watchdog_test.sh).
#include "tests/fuzz/fuzz_target.h"

namespace gg {

int FuzzOne(const uint8_t* data, size_t size) {
  volatile size_t turns = 0;
  for (;;) turns = turns + 1;
}

}  // namespace gg
