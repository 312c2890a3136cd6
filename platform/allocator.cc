// SPDX-License-Identifier: Apache-2.0
#include "platform/allocator.h"

#include <malloc.h>

namespace gg {

bool KeepFreedMemory() {
#ifdef __GLIBC__
  // glibc refuses more than half of what one of its heaps can hold, and then keeps its default of
  // 128 KiB; setting another threshold before has already switched off that it grows by itself.
  constexpr int kLargestMmapThreshold = 32 << 20;
  constexpr int kKeepAtTheTop = 256 << 20;
  constexpr int kGrowBy = 64 << 20;
  return mallopt(M_MMAP_THRESHOLD, kLargestMmapThreshold) == 1 &&
         mallopt(M_TRIM_THRESHOLD, kKeepAtTheTop) == 1 && mallopt(M_TOP_PAD, kGrowBy) == 1;
#else
  return false;
#endif
}

}  // namespace gg
