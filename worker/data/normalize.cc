// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "worker/data/batch_source.h"

namespace gg {

void NormalizePixels(absl::Span<const uint8_t> pixels, double mean, double stddev,
                     absl::Span<float> out) {
  assert(pixels.size() == out.size());
  // One multiplication and one addition per pixel on restricted pointers: the compiler turns this
  // into vector instructions, which a table of the 256 values would prevent.
  const float scale = static_cast<float>(1.0 / (255.0 * stddev));
  const float shift = static_cast<float>(-mean / stddev);
  const uint8_t* __restrict in = pixels.data();
  float* __restrict to = out.data();
  const size_t count = pixels.size();
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(in[i]) * scale + shift;
}

}  // namespace gg
