// SPDX-License-Identifier: Apache-2.0
#include "model/ops/window.h"

#include <limits>

#include "core/rng.h"
#include "gmock/gmock.h"
#include "model/ops/pooling.h"

namespace gg::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Window, SizesAreThoseOfPyTorch) {
  EXPECT_THAT(*OutputSize(Square(3), 5, 7), ElementsAre(3, 5));
  EXPECT_THAT(*OutputSize(Square(7, 2, 3), 224, 225), ElementsAre(112, 113));
  Window dilated = Square(3, 1, 2);
  dilated.dilation = {2, 1};
  EXPECT_THAT(*OutputSize(dilated, 10, 10), ElementsAre(10, 12));
  Window lopsided = Square(2, 2);
  lopsided.pad = {0, 1, 1, 0};
  EXPECT_THAT(*OutputSize(lopsided, 3, 3), ElementsAre(2, 2));
}

TEST(Window, OverTheEdgeButNotBeyondIt) {
  Window window = Square(3, 2);
  EXPECT_THAT(*OutputSize(window, 32, 31), ElementsAre(15, 15));
  window.ceil_mode = true;
  EXPECT_THAT(*OutputSize(window, 32, 31), ElementsAre(16, 15));
  // A third window would begin in the right padding.
  window = Square(2, 3, 1);
  window.ceil_mode = true;
  EXPECT_THAT(*OutputSize(window, 5, 4), ElementsAre(2, 2));
}

// Windows tried place by place.
int64_t Count(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t before,
              int64_t after, bool over_edge) {
  int64_t count = 0;
  for (int64_t begin = 0;; begin += stride) {
    const int64_t last = begin + dilation * (kernel - 1);
    if (last < before + size + after) {
      ++count;
      continue;
    }
    const bool previous_ends_before_edge = count > 0 && last - stride < before + size + after - 1;
    if (over_edge && previous_ends_before_edge && begin < before + size) ++count;
    return count;
  }
}

TEST(Window, SizesAreTheCountOfPlaces) {
  Rng rng(7, "window");
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(most - least + 1)));
  };
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Window w;
    w.kernel = {draw(1, 5), draw(1, 5)};
    w.stride = {draw(1, 4), draw(1, 4)};
    w.dilation = {draw(1, 3), draw(1, 3)};
    w.pad = {draw(0, 3), draw(0, 3), draw(0, 3), draw(0, 3)};
    w.ceil_mode = draw(0, 1) == 1;
    const int64_t height = draw(1, 12), width = draw(1, 12);
    const int64_t rows =
        Count(height, w.kernel[0], w.stride[0], w.dilation[0], w.pad[0], w.pad[2], w.ceil_mode);
    const int64_t columns =
        Count(width, w.kernel[1], w.stride[1], w.dilation[1], w.pad[1], w.pad[3], w.ceil_mode);
    const auto out = OutputSize(w, height, width);
    const std::string what =
        ToString(w) + " over " + std::to_string(height) + "x" + std::to_string(width);
    ASSERT_EQ(out.ok(), rows > 0 && columns > 0) << what << ": " << out.status();
    if (out.ok()) {
      ASSERT_THAT(*out, ElementsAre(rows, columns)) << what;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Pool, NoWindowThatIsTakenLiesInThePadding) {
  Rng rng(8, "pool");
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(most - least + 1)));
  };
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    PoolOptions options;
    Window& w = options.window;
    w.kernel = {draw(1, 4), 1};
    w.stride = {draw(1, 3), 1};
    w.dilation = {draw(1, 3), 1};
    w.pad = {draw(0, 4), 0, draw(0, 4), 0};
    w.ceil_mode = draw(0, 1) == 1;
    const int64_t height = draw(1, 8);
    const auto desc = Pool(options).Describe({{1, 1, height, 1}});
    if (!desc.ok()) continue;
    ++taken;
    for (int64_t o = 0; o < desc->outputs[0][2]; ++o) {
      bool touches = false;
      for (int64_t k = 0; k < w.kernel[0]; ++k) {
        const int64_t row = o * w.stride[0] - w.pad[0] + k * w.dilation[0];
        touches |= row >= 0 && row < height;
      }
      ASSERT_TRUE(touches) << ToString(w) << " over " << height << ", window " << o;
    }
  }
  EXPECT_GT(taken, 5000);
}

TEST(Window, SenselessNumbersAreNamed) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t value : {int64_t{-1}, kLeast, kMost, int64_t{1} << 41}) {
    Window w = Square(3);
    w.kernel[1] = value;
    EXPECT_THAT(OutputSize(w, 5, 5).status().message(), HasSubstr("its window's width is"));
    w = Square(3);
    w.stride[0] = value;
    EXPECT_THAT(OutputSize(w, 5, 5).status().message(), HasSubstr("stride is"));
    w = Square(3);
    w.dilation[0] = value;
    EXPECT_THAT(OutputSize(w, 5, 5).status().message(), HasSubstr("dilation is"));
    w = Square(3);
    w.pad[3] = value;
    EXPECT_THAT(OutputSize(w, 5, 5).status().message(), HasSubstr("padding is"));
    EXPECT_THAT(OutputSize(Square(3), value, 5).status().message(), HasSubstr("height is"));
  }
  Window wide = Square(int64_t{1} << 30);
  wide.dilation = {int64_t{1} << 30, int64_t{1} << 30};
  EXPECT_THAT(OutputSize(wide, 5, 5).status().message(), HasSubstr("is smaller than its window"));
}

TEST(Window, TooSmallInputsNameBothSizes) {
  EXPECT_THAT(OutputSize(Square(5), 4, 8).status().message(),
              HasSubstr("its input of 4x8 is smaller than its window of 5x5: use larger images"));
  EXPECT_THAT(OutputSize(Square(5, 1, 1), 2, 8).status().message(),
              HasSubstr("its input of 2x8, with padding 4x10, is smaller than its window of 5x5"));
}

TEST(Window, Text) {
  EXPECT_EQ(ToString(Square(3)), "3x3");
  EXPECT_EQ(ToString(Square(3, 2, 1)), "3x3, stride 2, pad 1");
  Window w;
  w.kernel = {1, 7};
  w.dilation = {1, 2};
  w.pad = {0, 3, 0, 3};
  w.ceil_mode = true;
  EXPECT_EQ(ToString(w), "1x7, dilation 1x2, pad 0x3, over the edge");
  w.pad = {0, 1, 2, 3};
  EXPECT_THAT(ToString(w), HasSubstr("pad top 0 left 1 bottom 2 right 3"));
}

}  // namespace
}  // namespace gg::model
