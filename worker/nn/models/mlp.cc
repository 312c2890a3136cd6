// SPDX-License-Identifier: Apache-2.0
//
// Fully connected layers with ReLU, of widths model.hidden; with model.dropout > 0 dropout after
// each of them.
#include "absl/strings/str_cat.h"
#include "worker/nn/layers/dropout.h"
#include "worker/nn/layers/linear.h"
#include "worker/nn/layers/relu.h"
#include "worker/nn/models/models.h"

namespace gg::models {

absl::StatusOr<Layers> Mlp(const NetworkOptions& options) {
  Layers net;
  int number = 0;
  for (const int64_t width : options.model.hidden) {
    if (width < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("hidden[", number, "] is ", width, ", a layer needs a width of at least 1"));
    }
    ++number;
    net.push_back(MakeLinearLayer(absl::StrCat("fc", number), width));
    net.push_back(MakeRelu(absl::StrCat("relu", number)));
    // Written so that NaN gets a layer too, which refuses it.
    if (options.model.dropout != 0) {
      net.push_back(MakeDropout(absl::StrCat("drop", number), options.model.dropout));
    }
  }
  net.push_back(MakeLinearLayer(absl::StrCat("fc", number + 1), options.classes));
  return net;
}

}  // namespace gg::models
