// SPDX-License-Identifier: Apache-2.0
//
// The networks of the zoo, each in the file of its name. Parameters and work: model/zoo/README.md.
// Thread-safety: pure functions. Errors: kInvalidArgument names the layer and what its input or the options must be.
#ifndef GOSSIPGRAD_MODEL_ZOO_MODELS_H_
#define GOSSIPGRAD_MODEL_ZOO_MODELS_H_

#include "absl/status/statusor.h"
#include "model/graph.h"
#include "model/zoo/zoo.h"

namespace gg::model::zoo {

absl::StatusOr<Graph> LeNet(const ZooOptions& options);
absl::StatusOr<Graph> LeNetBn(const ZooOptions& options);
absl::StatusOr<Graph> CifarNet(const ZooOptions& options);
absl::StatusOr<Graph> CifarNetFull(const ZooOptions& options);
absl::StatusOr<Graph> Mlp(const ZooOptions& options);
absl::StatusOr<Graph> CdDnn(const ZooOptions& options);
absl::StatusOr<Graph> ResNet20(const ZooOptions& options);
absl::StatusOr<Graph> ResNet18(const ZooOptions& options);
absl::StatusOr<Graph> ResNet50(const ZooOptions& options);
absl::StatusOr<Graph> GoogLeNet(const ZooOptions& options);
absl::StatusOr<Graph> VggA(const ZooOptions& options);
absl::StatusOr<Graph> Vgg16(const ZooOptions& options);
absl::StatusOr<Graph> AlexNet(const ZooOptions& options);
absl::StatusOr<Graph> OverFeatFast(const ZooOptions& options);

}  // namespace gg::model::zoo

#endif  // GOSSIPGRAD_MODEL_ZOO_MODELS_H_
