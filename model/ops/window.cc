// SPDX-License-Identifier: Apache-2.0
#include "model/ops/window.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "model/op.h"
#include "model/ops/inputs.h"

namespace gg::model {
namespace {

// Larger numbers are mistakes; products of two of them still fit.
constexpr int64_t kMost = int64_t{1} << 30;

absl::Status CheckNumber(int64_t value, int64_t least, const char* what) {
  if (value < least || value > kMost) {
    return Refused("its window's ", what, " is ", value, ", must be ", least, " to 2^30");
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const Window& window) {
  for (int d = 0; d < 2; ++d) {
    GG_RETURN_IF_ERROR(CheckNumber(window.kernel[d], 1, d == 0 ? "height" : "width"));
    GG_RETURN_IF_ERROR(CheckNumber(window.stride[d], 1, "stride"));
    GG_RETURN_IF_ERROR(CheckNumber(window.dilation[d], 1, "dilation"));
  }
  for (const int64_t pad : window.pad) GG_RETURN_IF_ERROR(CheckNumber(pad, 0, "padding"));
  return absl::OkStatus();
}

// "3" or "3x2".
std::string Pair(const std::array<int64_t, 2>& values) {
  return values[0] == values[1] ? absl::StrCat(values[0]) : absl::StrCat(values[0], "x", values[1]);
}

}  // namespace

Window Square(int64_t kernel, int64_t stride, int64_t pad) {
  return {.kernel = {kernel, kernel}, .stride = {stride, stride}, .pad = {pad, pad, pad, pad}};
}

int64_t Reach(const Window& window, int dimension) {
  return window.dilation[dimension] * (window.kernel[dimension] - 1) + 1;
}

absl::StatusOr<std::array<int64_t, 2>> OutputSize(const Window& window, int64_t height,
                                                  int64_t width) {
  GG_RETURN_IF_ERROR(CheckNumbers(window));
  GG_RETURN_IF_ERROR(CheckCount(height, "the input's height"));
  GG_RETURN_IF_ERROR(CheckCount(width, "the input's width"));
  const std::array<int64_t, 2> size = {height, width};
  std::array<int64_t, 2> padded, out;
  for (int d = 0; d < 2; ++d) padded[d] = size[d] + window.pad[d] + window.pad[d + 2];
  for (int d = 0; d < 2; ++d) {
    const int64_t room = padded[d] - Reach(window, d);
    if (room < 0) {
      const bool with_pad = padded != size;
      return Refused(
          "its input of ", height, "x", width,
          with_pad ? absl::StrCat(", with padding ", padded[0], "x", padded[1], ",") : "",
          " is smaller than its window of ", Reach(window, 0), "x", Reach(window, 1),
          ": use larger images or another model");
    }
    const int64_t stride = window.stride[d];
    out[d] = room / stride + 1;
    if (window.ceil_mode && room % stride != 0 && out[d] * stride < size[d] + window.pad[d]) {
      ++out[d];
    }
  }
  return out;
}

std::string ToString(const Window& window) {
  std::string text = absl::StrCat(window.kernel[0], "x", window.kernel[1]);
  if (window.stride != std::array<int64_t, 2>{1, 1}) {
    absl::StrAppend(&text, ", stride ", Pair(window.stride));
  }
  if (window.dilation != std::array<int64_t, 2>{1, 1}) {
    absl::StrAppend(&text, ", dilation ", Pair(window.dilation));
  }
  const auto& [top, left, bottom, right] = window.pad;
  if (top == bottom && left == right) {
    if (top != 0 || left != 0) absl::StrAppend(&text, ", pad ", Pair({top, left}));
  } else {
    absl::StrAppend(&text, ", pad top ", top, " left ", left, " bottom ", bottom, " right ", right);
  }
  if (window.ceil_mode) absl::StrAppend(&text, ", over the edge");
  return text;
}

}  // namespace gg::model
