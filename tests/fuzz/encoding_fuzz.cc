// SPDX-License-Identifier: Apache-2.0
//
// The first byte chooses the encoding, the second how many values are due, the rest is the message.
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "worker/wire/encoding.h"

namespace gg {

int FuzzOne(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const WireFormat format = {.encoding = static_cast<Encoding>(data[0] % 5), .topk_share = 0.3};
  std::vector<float> values(data[1]);
  // As long as the encoding wants, where there is as much: else nothing but the length is looked at.
  const size_t due = WireBytes(format, values.size());
  const std::vector<uint8_t> wire(data + 2, data + (size - 2 < due ? size : due + 2));
  const absl::Status status = Decode(format, wire, absl::MakeSpan(values));
  if ((wire.size() == due) == absl::IsInvalidArgument(status)) std::abort();
  if (!status.ok()) return 0;
  // What has been decoded is a fixed point, where all of it is finite and no number of int8 is -128,
  // which no sender writes.
  if (format.encoding == Encoding::kInt8) {
    for (const uint8_t byte : wire) {
      if (byte == 0x80) return 0;
    }
  }
  for (const float value : values) {
    if (!std::isfinite(value)) return 0;
  }
  std::vector<uint8_t> again(due);
  std::vector<float> twice(values.size());
  Encode(format, values, {data[0], data[1]}, absl::MakeSpan(again));
  if (!Decode(format, again, absl::MakeSpan(twice)).ok()) std::abort();
  // int8 knows no exponent below -104: what foreign bytes hold below it may vanish or grow to a step.
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::abs(twice[i] - values[i]) > std::ldexp(1.0f, -104)) std::abort();
  }
  return 0;
}

}  // namespace gg
