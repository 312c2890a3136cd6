// SPDX-License-Identifier: Apache-2.0
//
// Never returns: what the driver's watchdog is tried on (watchdog_test.sh).
#include <unistd.h>

#include "tests/fuzz/fuzz_target.h"

namespace gg {

int FuzzOne(const uint8_t* data, size_t size) {
  // With a call: ThreadSanitizer holds signals back until the program calls the C library.
  for (;;) usleep(1000);
}

}  // namespace gg
