// SPDX-License-Identifier: Apache-2.0
//
// A steady training step allocates next to nothing and touches no new page. Replaces the C
// allocation functions of this program, libraries included, with counting ones.
#include <errno.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/device.h"
#include "worker/nn/network.h"
#include "worker/optim/optimizer.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define GG_COUNTS_ALLOCATIONS 0  // a sanitizer has replaced them already
#else
#define GG_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<size_t> g_allocated_bytes{0};
}

#if GG_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  g_allocated_bytes += bytes;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  g_allocated_bytes += count * bytes;
  return __libc_calloc(count, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  g_allocated_bytes += bytes;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
}  // extern "C"
#endif

namespace gg {
namespace {

// oneDNN wraps the arguments of each call in a small map.
constexpr size_t kBytesPerStep = 64 << 10;

class AllocationTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(DevicesAndModels, AllocationTest,
                         testing::Combine(testing::Values("reference", "onednn"),
                                          testing::Values("lenet", "lenet-bn")));

int64_t PageFaults() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST_P(AllocationTest, SteadyStepsAllocateNothingOfConsequenceAndTouchNoNewPage) {
  if (!GG_COUNTS_ALLOCATIONS) GTEST_SKIP() << "counted in builds without sanitizers only";
  auto device = MakeDevice(std::get<0>(GetParam()), {});
  if (absl::IsUnavailable(device.status())) GTEST_SKIP() << device.status();
  ASSERT_TRUE(device.ok()) << device.status();
  auto stream = (*device)->MakeStream().value();
  NetworkOptions options;
  options.model.name = std::get<1>(GetParam());
  options.input = {1, 28, 28};
  options.batch_size = 16;
  auto net = MakeNetwork(**device, options).value();
  auto optimizer = MakeOptimizer(OptimizerSpec{}, **device, *stream, net->arena()).value();
  const std::vector<float> x(16 * 784, 0.5f);
  const std::vector<int32_t> labels(16, 3);
  uint64_t step = 0;
  const auto train = [&] {
    auto loss = net->Forward(step++, x, labels, [](BlockIndex) { return absl::OkStatus(); });
    ASSERT_TRUE(loss.ok()) << loss.status();
    ASSERT_TRUE(
        net->Backward([&](BlockIndex b) { return optimizer->Update(b, step - 1, 0.01); }).ok());
  };
  ASSERT_GT(g_allocated_bytes.load(), size_t{1} << 20)
      << "the counter does not see the network's memory";
  train();
  constexpr int kWindows = 5, kStepsPerWindow = 3;
  int64_t fewest_faults = INT64_MAX;
  for (int window = 0; window < kWindows; ++window) {
    const size_t bytes = g_allocated_bytes;
    const int64_t faults = PageFaults();
    for (int i = 0; i < kStepsPerWindow; ++i) train();
    EXPECT_LE(g_allocated_bytes - bytes, kStepsPerWindow * kBytesPerStep);
    // The fewest of several windows: the system may move pages at any time for reasons of its own.
    fewest_faults = std::min(fewest_faults, PageFaults() - faults);
  }
  EXPECT_EQ(fewest_faults, 0);
}

}  // namespace
}  // namespace gg
