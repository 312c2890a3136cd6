// SPDX-License-Identifier: Apache-2.0
//
// What a network costs, layer by layer and in all, and the forms in which that is shown.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_MODEL_VIEW_H_
#define GOSSIPGRAD_GGCTL_MODEL_VIEW_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/graph.h"
#include "model/zoo/zoo.h"

namespace gg {

struct ModelView {
  struct Layer {
    std::string name, kind, text;
    model::Shape output;        // with the batch
    int64_t parameters = 0;     // numbers, not bytes
    int64_t multiply_adds = 0;  // per sample
    std::string block;          // "" without parameters
  };
  struct Block {
    std::string name;
    int64_t parameters = 0;
  };
  std::string name, source;
  model::Shape input;  // of one sample
  int64_t classes = 0, batch = 1;
  std::vector<Layer> layers;
  std::vector<Block> blocks;  // in the order of the layers
  std::vector<model::Head> heads;
  std::vector<std::string> head_names;  // of their values
  int64_t parameters = 0, buffers = 0;  // numbers, not bytes
  int64_t multiply_adds = 0;            // per sample
  int64_t activation_bytes = 0;         // per sample: input and outputs of all layers in fp32
  int64_t arena_bytes = 0;  // of the parameters; those of gradients and momentum are as large
};

// kInvalidArgument: the graph is not sound or too large for such a batch.
absl::StatusOr<ModelView> ViewModel(const model::Graph& graph, int64_t batch);

std::string ModelToText(const ModelView& view);
nlohmann::ordered_json ModelToJson(const ModelView& view);

// Each with its usual input and classes.
std::string ModelsToText(const std::vector<ModelView>& views);
nlohmann::ordered_json ModelsToJson(const std::vector<ModelView>& views);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_MODEL_VIEW_H_
