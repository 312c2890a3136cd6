// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>

namespace gg {
namespace {

struct Range {
  ptrdiff_t begin, end;
};

// Short ranges are likelier: fields are short.
Range RandomRange(const FuzzInput& in, Rng& rng) {
  const uint64_t begin = rng.Below(in.size());
  const uint64_t most = std::min<uint64_t>(in.size() - begin, rng.Below(4) == 0 ? in.size() : 16);
  return {static_cast<ptrdiff_t>(begin), static_cast<ptrdiff_t>(begin + 1 + rng.Below(most))};
}

void PutExtreme(FuzzInput& in, Rng& rng) {
  constexpr uint32_t kExtremes[] = {0,      1,      0x7f,       0x80,       0xff,      0x7fff,
                                    0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
  const uint32_t value = kExtremes[rng.Below(std::size(kExtremes))];
  const uint64_t width = uint64_t{1} << rng.Below(3);
  const bool big_endian = rng.Below(2) == 0;
  const uint64_t at = rng.Below(in.size());
  for (uint64_t i = 0; i < width && at + i < in.size(); ++i) {
    const uint64_t shift = 8 * (big_endian ? width - 1 - i : i);
    in[at + i] = static_cast<uint8_t>(value >> shift);
  }
}

void MutateOnce(FuzzInput& in, const FuzzInput& other, Rng& rng) {
  if (in.empty()) {
    in.push_back(static_cast<uint8_t>(rng.Below(256)));
    return;
  }
  const Range range = RandomRange(in, rng);
  switch (rng.Below(7)) {
    case 0:
      in[rng.Below(in.size())] ^= static_cast<uint8_t>(1 << rng.Below(8));
      break;
    case 1:
      in[rng.Below(in.size())] = static_cast<uint8_t>(rng.Below(256));
      break;
    case 2:
      in.resize(rng.Below(in.size()));
      break;
    case 3:
      in.erase(in.begin() + range.begin, in.begin() + range.end);
      break;
    case 4: {
      const FuzzInput copy(in.begin() + range.begin, in.begin() + range.end);
      in.insert(in.begin() + range.end, copy.begin(), copy.end());
      break;
    }
    case 5:
      PutExtreme(in, rng);
      break;
    default:
      if (!other.empty()) {
        const Range part = RandomRange(other, rng);
        in.insert(in.begin() + range.begin, other.begin() + part.begin, other.begin() + part.end);
      }
  }
}

}  // namespace

FuzzInput Mutate(FuzzInput input, const FuzzInput& other, size_t most_bytes, Rng& rng) {
  for (uint64_t changes = 1 + rng.Below(4); changes > 0; --changes) {
    MutateOnce(input, other, rng);
  }
  if (input.size() > most_bytes) input.resize(most_bytes);
  return input;
}

}  // namespace gg
