// SPDX-License-Identifier: Apache-2.0
#include "worker/wire/encoding.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker/wire/loops.h"

namespace gg {
namespace {

struct Named {
  absl::string_view name;
  Encoding encoding;
};
constexpr Named kEncodings[] = {{"fp32", Encoding::kFp32},
                                {"bf16", Encoding::kBf16},
                                {"fp16", Encoding::kFp16},
                                {"int8", Encoding::kInt8},
                                {"topk", Encoding::kTopk}};

size_t Kept(const WireFormat& format, size_t values) {
  const double wanted = std::ceil(format.topk_share * static_cast<double>(values));
  return std::min(values, static_cast<size_t>(wanted));
}

}  // namespace

absl::StatusOr<WireFormat> ParseWireFormat(absl::string_view encoding, double topk_share,
                                           uint64_t seed) {
  if (!(topk_share > 0 && topk_share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange topk_share must be above 0 and at most 1, not ", topk_share));
  }
  for (const Named& known : kEncodings) {
    if (known.name == encoding) return WireFormat{known.encoding, topk_share, seed};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown exchange encoding '", encoding, "': use one of ",
      absl::StrJoin(kEncodings, ", ",
                    [](std::string* out, const Named& e) { absl::StrAppend(out, e.name); })));
}

absl::string_view EncodingName(Encoding encoding) {
  for (const Named& known : kEncodings) {
    if (known.encoding == encoding) return known.name;
  }
  return "";
}

size_t BlockValues(Encoding encoding) {
  return encoding == Encoding::kInt8 ? wire::kInt8Block : 1;
}

size_t WireBytes(const WireFormat& format, size_t values) {
  switch (format.encoding) {
    case Encoding::kFp32:
      return values * sizeof(float);
    case Encoding::kBf16:
    case Encoding::kFp16:
      return values * sizeof(uint16_t);
    case Encoding::kInt8:
      return values + (values + wire::kInt8Block - 1) / wire::kInt8Block;
    case Encoding::kTopk:
      return Kept(format, values) * (sizeof(uint32_t) + sizeof(float));
  }
  return 0;
}

void Encode(const WireFormat& format, ConstFlat values, Dither dither, Bytes wire) {
  switch (format.encoding) {
    case Encoding::kFp32:
      if (!values.empty()) std::memcpy(wire.data(), values.data(), wire.size());
      return;
    case Encoding::kBf16:
      return wire::EncodeBf16(values.data(), values.size(), wire.data());
    case Encoding::kFp16:
      return wire::EncodeFp16(values.data(), values.size(), wire.data());
    case Encoding::kInt8:
      return wire::EncodeInt8(values.data(), values.size(), dither, wire.data());
    case Encoding::kTopk:
      return wire::EncodeTopk(values, Kept(format, values.size()), wire.data());
  }
}

absl::Status Decode(const WireFormat& format, ConstBytes wire, Flat values) {
  const size_t due = WireBytes(format, values.size());
  if (wire.size() != due) {
    return absl::InvalidArgumentError(absl::StrCat(EncodingName(format.encoding), " message of ",
                                                   values.size(), " values: ", wire.size(),
                                                   " bytes instead of ", due));
  }
  switch (format.encoding) {
    case Encoding::kFp32:
      if (!values.empty()) std::memcpy(values.data(), wire.data(), wire.size());
      break;
    case Encoding::kBf16:
      wire::DecodeBf16(wire.data(), values.size(), values.data());
      break;
    case Encoding::kFp16:
      wire::DecodeFp16(wire.data(), values.size(), values.data());
      break;
    case Encoding::kInt8:
      wire::DecodeInt8(wire.data(), values.size(), values.data());
      break;
    case Encoding::kTopk:
      return wire::DecodeTopk(wire.data(), Kept(format, values.size()), values);
  }
  return absl::OkStatus();
}

}  // namespace gg
