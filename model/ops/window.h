// SPDX-License-Identifier: Apache-2.0
//
// What convolution and pooling have in common: a window that moves over the two last dimensions of (N, C, H, W).
// Thread-safety: values.
#ifndef GOSSIPGRAD_MODEL_OPS_WINDOW_H_
#define GOSSIPGRAD_MODEL_OPS_WINDOW_H_

#include <array>
#include <cstdint>
#include <string>
#include "absl/status/statusor.h"

namespace gg::model {

struct Window {
  std::array<int64_t, 2> kernel = {1, 1};  // height, width
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  std::array<int64_t, 4> pad = {0, 0, 0, 0};  // top, left, bottom, right
  // The last window may reach over the lower right edge, as long as it begins inside the image or its left padding (Caffe,
  // PyTorch's ceil_mode).
  bool ceil_mode = false;
};

// A square window with the same padding on all sides.
Window Square(int64_t kernel, int64_t stride = 1, int64_t pad = 0);

// Pixels from the first to the last of the window, both included; `dimension` 0 is the height. Of a window that OutputSize
// does not refuse.
int64_t Reach(const Window& window, int dimension);

// (height, width) of the output. kInvalidArgument: the window does not fit, or a number is senseless.
absl::StatusOr<std::array<int64_t, 2>> OutputSize(const Window& window, int64_t height,
                                                  int64_t width);
std::string ToString(const Window& window);  // "3x3, stride 2, pad 1"

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_OPS_WINDOW_H_
