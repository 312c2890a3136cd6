// SPDX-License-Identifier: Apache-2.0
//
// The layers that compute a graph, where it is a chain of what the layers can do: convolution with one size of kernel, stride
// and pad for both directions and one group, linear over rows, pooling without padding, relu, dropout, batch normalisation,
// flatten. Parameters start as the layers' own do.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_WORKER_NN_MODELS_FROM_GRAPH_H_
#define GOSSIPGRAD_WORKER_NN_MODELS_FROM_GRAPH_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "model/graph.h"
#include "worker/nn/layer.h"

namespace gg {

// kInvalidArgument: the graph is not sound, or another one than the layers can compute; names the node and its op.
absl::StatusOr<std::vector<std::unique_ptr<Layer>>> LayersFromGraph(const model::Graph& graph);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_MODELS_FROM_GRAPH_H_
