// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "worker/nn/chain.h"
#include "worker/nn/models/models.h"
#include "worker/nn/network.h"

namespace gg {
namespace {

struct Model {
  absl::string_view name;
  absl::StatusOr<models::Layers> (*build)(const NetworkOptions&);
};

constexpr Model kModels[] = {
    {"lenet", models::LeNet},
    {"lenet-bn", models::LeNetBn},
    {"cifarnet", models::CifarNet},
    {"mlp", models::Mlp},
};

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
                                               const Model& model) {
  GG_RETURN_IF_ERROR(CheckOptions(options));
  GG_ASSIGN_OR_RETURN(models::Layers layers, model.build(options));
  return MakeChain(device, options, std::move(layers));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(Device& device,
                                                     const NetworkOptions& options) {
  for (const Model& model : kModels) {
    if (model.name != options.model.name) continue;
    auto network = Build(device, options, model);
    if (network.ok()) return network;
    return Annotate(network.status(),
                    absl::StrCat("model ", model.name, " for images of ", options.input.channels,
                                 "x", options.input.height, "x", options.input.width));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown model '", options.model.name, "': known are ", absl::StrJoin(ModelNames(), ", ")));
}

std::vector<absl::string_view> ModelNames() {
  std::vector<absl::string_view> names;
  for (const Model& model : kModels) names.push_back(model.name);
  return names;
}

}  // namespace gg
