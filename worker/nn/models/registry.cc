// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "model/zoo/zoo.h"
#include "worker/nn/chain.h"
#include "worker/nn/models/from_graph.h"
#include "worker/nn/network.h"

namespace gg {
namespace {

// Of the zoo, those that this engine can train.
constexpr absl::string_view kModels[] = {"lenet", "lenet-bn", "cifarnet", "mlp"};

absl::Status CheckOptions(const NetworkOptions& options) {
  const InputShape& in = options.input;
  if (in.channels < 1 || in.height < 1 || in.width < 1) {
    return absl::InvalidArgumentError("channels, height and width of the input must be positive");
  }
  if (options.classes < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("classes is ", options.classes, ", must be positive"));
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_size is ", options.batch_size, ", must be positive"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Network>> Build(Device& device, const NetworkOptions& options,
                                               const model::Graph& graph) {
  GG_ASSIGN_OR_RETURN(auto layers, LayersFromGraph(graph));
  return MakeChain(device, options, std::move(layers));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(Device& device,
                                                     const NetworkOptions& options) {
  const std::string& name = options.model.name;
  if (std::find(std::begin(kModels), std::end(kModels), name) == std::end(kModels)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown model '", name, "': known are ", absl::StrJoin(ModelNames(), ", ")));
  }
  const InputShape& in = options.input;
  const std::string context =
      absl::StrCat("model ", name, " for images of ", in.channels, "x", in.height, "x", in.width);
  GG_RETURN_IF_ERROR(Annotate(CheckOptions(options), context));
  GG_ASSIGN_OR_RETURN(const model::Graph graph,
                      model::MakeZooModel(name, {.input = {in.channels, in.height, in.width},
                                                 .classes = options.classes,
                                                 .hidden = options.model.hidden,
                                                 .dropout = options.model.dropout}));
  auto network = Build(device, options, graph);
  if (!network.ok()) return Annotate(network.status(), context);
  return network;
}

std::vector<absl::string_view> ModelNames() {
  return {std::begin(kModels), std::end(kModels)};
}

}  // namespace gg
