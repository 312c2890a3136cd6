// SPDX-License-Identifier: Apache-2.0
#include "platform/allocator.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace gg {
namespace {

int64_t Faults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

int64_t FaultsOfOneBlock(size_t bytes) {
  const int64_t before = Faults();
  // volatile: the compiler may not leave out a block that nobody reads.
  char* volatile block = static_cast<char*>(std::malloc(bytes));
  std::memset(block, 1, bytes);
  std::free(block);
  return Faults() - before;
}

// The daemon once asked for a threshold that glibc refuses, unseen: each block of more than 128 KiB
// was mapped, faulted in and unmapped again.
TEST(AllocatorTest, FreedBlocksAreUsedAgainWithoutFaults) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
  GTEST_SKIP() << "the allocator is not glibc's";
#endif
  ASSERT_TRUE(KeepFreedMemory());
  for (const size_t bytes : {256 << 10, 1 << 20, 4 << 20, 30 << 20}) {
    FaultsOfOneBlock(bytes);
    EXPECT_LT(FaultsOfOneBlock(bytes), 16) << bytes << " bytes";
  }
}

}  // namespace
}  // namespace gg
