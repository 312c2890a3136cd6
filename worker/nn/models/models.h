// SPDX-License-Identifier: Apache-2.0
//
// The models, each in a file of its own: the layers in forward order. To add one: its file, a line
// here and a line in the table of registry.cc. Thread-safety: pure functions. Errors:
// kInvalidArgument for options of the model that are impossible.
#ifndef GOSSIPGRAD_WORKER_NN_MODELS_MODELS_H_
#define GOSSIPGRAD_WORKER_NN_MODELS_MODELS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/nn/layer.h"
#include "worker/nn/network.h"

namespace gg::models {

using Layers = std::vector<std::unique_ptr<Layer>>;

absl::StatusOr<Layers> LeNet(const NetworkOptions& options);
absl::StatusOr<Layers> LeNetBn(const NetworkOptions& options);
absl::StatusOr<Layers> CifarNet(const NetworkOptions& options);
absl::StatusOr<Layers> Mlp(const NetworkOptions& options);

}  // namespace gg::models

#endif  // GOSSIPGRAD_WORKER_NN_MODELS_MODELS_H_
