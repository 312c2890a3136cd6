// SPDX-License-Identifier: Apache-2.0
//
// Fully connected layers with ReLU, of widths options.hidden; with options.dropout > 0 dropout after each of them.
#include "absl/strings/str_cat.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {

absl::StatusOr<Graph> Mlp(const ZooOptions& options) {
  Net net("mlp", options);
  net.Flatten("flatten");
  int number = 0;
  for (const int64_t width : options.hidden) {
    if (width < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("hidden[", number, "] is ", width, ", a layer needs a width of at least 1"));
    }
    ++number;
    net.Add<Linear>(absl::StrCat("fc", number), {.out_features = width});
    net.Relu(absl::StrCat("relu", number));
    // Written so that NaN gets a layer too, which refuses it.
    if (options.dropout != 0) {
      net.Add<Dropout>(absl::StrCat("drop", number), {.probability = options.dropout});
    }
  }
  net.Add<Linear>(absl::StrCat("fc", number + 1), {.out_features = options.classes});
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
