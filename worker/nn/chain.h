// SPDX-License-Identifier: Apache-2.0
//
// A network that is a chain of layers with a softmax cross-entropy at its end.
// Thread-safety: see worker/nn/network.h.
#ifndef GOSSIPGRAD_WORKER_NN_CHAIN_H_
#define GOSSIPGRAD_WORKER_NN_CHAIN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/nn/layer.h"
#include "worker/nn/network.h"

namespace gg {

// Binds the layers, plans the activations and draws the initial weights. arena().buffers() holds the
// layers' buffers in forward order. The last layer must give
// options.classes values. kInvalidArgument: no parameters at all, a shape that does not fit.
// `device` must outlive the network.
absl::StatusOr<std::unique_ptr<Network>> MakeChain(Device& device, const NetworkOptions& options,
                                                   std::vector<std::unique_ptr<Layer>> layers);

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_NN_CHAIN_H_
