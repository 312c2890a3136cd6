// SPDX-License-Identifier: Apache-2.0
//
// The acoustic model of Seide, Li, Yu: Conversational Speech Transcription Using Context-Dependent Deep Neural Networks,
// Interspeech 2011: 11 frames of 39 features, seven hidden layers of 2048 sigmoids, 9304 states of phones.
#include "absl/strings/str_cat.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/zoo/models.h"
#include "model/zoo/net.h"

namespace gg::model::zoo {

absl::StatusOr<Graph> CdDnn(const ZooOptions& options) {
  constexpr int kHiddenLayers = 7;
  constexpr int64_t kWidth = 2048;
  Net net("cd-dnn", options);
  net.Flatten("flatten");
  for (int i = 1; i <= kHiddenLayers; ++i) {
    net.Add<Linear>(absl::StrCat("fc", i), {.out_features = kWidth});
    net.Add<Unary>(absl::StrCat("sigmoid", i), {.kind = UnaryOptions::kSigmoid});
  }
  net.Add<Linear>(absl::StrCat("fc", kHiddenLayers + 1), {.out_features = options.classes});
  net.Head();
  return std::move(net).Build();
}

}  // namespace gg::model::zoo
