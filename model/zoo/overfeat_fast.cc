// SPDX-License-Identifier: Apache-2.0
//
// The fast network of Sermanet, Eigen, Zhang, Mathieu, Fergus, LeCun: OverFeat: Integrated Recognition, Localization and
// Detection using Convolutional Networks, ICLR 2014, table 1; weights start Gaussian with deviation 0.01 (section 3.2).
#include "absl/strings/str_cat.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {

absl::StatusOr<Graph> OverFeatFast(const ZooOptions& options) {
  const Initializer initial = Normal(0.01);
  struct Stage {
    int64_t channels;
    Window window;
    bool pooled;
  };
  const Stage stages[] = {{96, Square(11, 4), true},
                          {256, Square(5), true},
                          {512, Square(3, 1, 1), false},
                          {1024, Square(3, 1, 1), false},
                          {1024, Square(3, 1, 1), true}};
  Net net("overfeat-fast", options);
  int number = 0;
  for (const Stage& stage : stages) {
    ++number;
    net.Add<Convolution>(
        absl::StrCat("conv", number),
        {.out_channels = stage.channels, .window = stage.window, .weight_initial = initial});
    net.Relu(absl::StrCat("relu", number));
    if (stage.pooled) net.Add<Pool>(absl::StrCat("pool", number), MaxPool(2, 2));
  }
  net.Flatten("flatten");
  for (const int64_t width : {3072, 4096}) {
    ++number;
    net.Add<Linear>(absl::StrCat("fc", number), {.out_features = width, .weight_initial = initial});
    net.Relu(absl::StrCat("relu", number));
    net.Add<Dropout>(absl::StrCat("drop", number), {.probability = 0.5});
  }
  net.Add<Linear>(absl::StrCat("fc", number + 1),
                  {.out_features = options.classes, .weight_initial = initial});
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
