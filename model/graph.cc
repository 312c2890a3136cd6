// SPDX-License-Identifier: Apache-2.0
#include "model/graph.h"

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg::model {
namespace {

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// What a node has of parameters or buffers against what its op asks for.
template <typename Tensor, typename Desc>
absl::Status CheckTensors(const char* what, const std::vector<Tensor>& all,
                          const std::vector<int>& ids, const std::vector<Desc>& wanted,
                          std::vector<bool>* used) {
  if (ids.size() != wanted.size()) {
    return Wrong("has ", ids.size(), " ", what, "s, its op asks for ", wanted.size());
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const int id = ids[i];
    if (id < 0 || id >= static_cast<int>(all.size())) {
      return Wrong(what, " ", id, " is unknown, the graph has ", all.size());
    }
    const Tensor& tensor = all[id];
    if ((*used)[id]) return Wrong(what, " ", tensor.name, " belongs to another node already");
    (*used)[id] = true;
    if (tensor.shape != wanted[i].shape) {
      return Wrong(what, " ", tensor.name, " is ", ToString(tensor.shape), ", ", wanted[i].name,
                   " must be ", ToString(wanted[i].shape));
    }
    if (tensor.values != nullptr &&
        static_cast<int64_t>(tensor.values->size()) != Elements(tensor.shape)) {
      return Wrong(what, " ", tensor.name, " has ", tensor.values->size(), " values, ",
                   ToString(tensor.shape), " holds ", Elements(tensor.shape));
    }
  }
  return absl::OkStatus();
}

class Inference {
 public:
  Inference(const Graph& graph, int64_t batch)
      : graph_(graph),
        batch_(batch),
        shapes_(graph.values.size()),
        made_(graph.values.size()),
        used_parameters_(graph.parameters.size()),
        used_buffers_(graph.buffers.size()) {}

  absl::StatusOr<std::vector<Shape>> Run() {
    GG_RETURN_IF_ERROR(CheckNames());
    GG_RETURN_IF_ERROR(Input());
    for (const Node& node : graph_.nodes) {
      GG_RETURN_IF_ERROR(Annotate(Describe(node), node.name));
    }
    for (size_t v = 0; v < made_.size(); ++v) {
      if (!made_[v]) return Wrong("value ", graph_.values[v], ": no node makes it");
    }
    for (size_t p = 0; p < used_parameters_.size(); ++p) {
      if (!used_parameters_[p]) {
        return Wrong("parameter ", graph_.parameters[p].name, ": no node uses it");
      }
    }
    for (size_t b = 0; b < used_buffers_.size(); ++b) {
      if (!used_buffers_[b]) return Wrong("buffer ", graph_.buffers[b].name, ": no node uses it");
    }
    GG_RETURN_IF_ERROR(Heads());
    return std::move(shapes_);
  }

 private:
  // Names are keys of checkpoints, so that one stands for one tensor.
  template <typename Things>
  static absl::Status Unique(const char* what, const Things& things,
                             absl::flat_hash_set<std::string>* names) {
    for (const auto& thing : things) {
      if (thing.name.empty()) return Wrong("a ", what, " has no name");
      if (!names->insert(thing.name).second)
        return Wrong(what, " ", thing.name, ": name used twice");
    }
    return absl::OkStatus();
  }

  absl::Status CheckNames() const {
    absl::flat_hash_set<std::string> nodes, tensors, values;
    GG_RETURN_IF_ERROR(Unique("node", graph_.nodes, &nodes));
    GG_RETURN_IF_ERROR(Unique("parameter", graph_.parameters, &tensors));
    GG_RETURN_IF_ERROR(Unique("buffer", graph_.buffers, &tensors));
    for (const std::string& name : graph_.values) {
      if (name.empty()) return Wrong("a value has no name");
      if (!values.insert(name).second) return Wrong("value ", name, ": name used twice");
    }
    for (const Parameter& p : graph_.parameters) {
      if (!std::isfinite(p.initial.centre) || !std::isfinite(p.initial.bound) ||
          p.initial.bound < 0) {
        return Wrong("parameter ", p.name, ": initial values around ", p.initial.centre,
                     " with a bound of ", p.initial.bound,
                     ", both must be finite and the bound at least 0");
      }
    }
    return absl::OkStatus();
  }

  bool Known(ValueId v) const { return v >= 0 && v < static_cast<int>(graph_.values.size()); }

  absl::Status Input() {
    if (batch_ < 1) return Wrong("batch is ", batch_, ", must be at least 1");
    if (!Known(graph_.input))
      return Wrong("the input is value ", graph_.input, ", which is unknown");
    if (graph_.input_shape.empty()) return Wrong("the input has no dimensions besides the batch");
    Shape& shape = shapes_[graph_.input];
    shape = {batch_};
    shape.insert(shape.end(), graph_.input_shape.begin(), graph_.input_shape.end());
    made_[graph_.input] = true;
    return CheckShape(shape, "the input with its batch");
  }

  absl::Status Describe(const Node& node) {
    if (node.op == nullptr) return Wrong("has no op");
    std::vector<Shape> inputs;
    for (const ValueId v : node.inputs) {
      if (!Known(v)) return Wrong("reads value ", v, ", which is unknown");
      if (!made_[v]) {
        return Wrong("reads ", graph_.values[v],
                     " before it is made: order the nodes by what they "
                     "read");
      }
      inputs.push_back(shapes_[v]);
    }
    GG_ASSIGN_OR_RETURN(OpDesc desc, node.op->Describe(inputs));
    if (desc.outputs.size() != node.outputs.size()) {
      return Wrong("has ", node.outputs.size(), " outputs, its op makes ", desc.outputs.size());
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId v = node.outputs[i];
      if (!Known(v)) return Wrong("makes value ", v, ", which is unknown");
      if (made_[v]) return Wrong("makes ", graph_.values[v], ", which is there already");
      GG_RETURN_IF_ERROR(CheckShape(desc.outputs[i], "its output"));
      shapes_[v] = std::move(desc.outputs[i]);
      made_[v] = true;
    }
    GG_RETURN_IF_ERROR(CheckTensors("parameter", graph_.parameters, node.parameters,
                                    desc.parameters, &used_parameters_));
    return CheckTensors("buffer", graph_.buffers, node.buffers, desc.buffers, &used_buffers_);
  }

  absl::Status Heads() const {
    if (graph_.heads.empty()) return Wrong("the graph has no head: nothing says what is trained");
    for (size_t i = 0; i < graph_.heads.size(); ++i) {
      const Head& head = graph_.heads[i];
      if (!Known(head.value))
        return Wrong("head ", i, " is value ", head.value, ", which is unknown");
      const std::string& name = graph_.values[head.value];
      const Shape& shape = shapes_[head.value];
      if (shape.size() < 2 || shape[0] != batch_) {
        return Wrong("head ", name, ": its value is ", ToString(shape), " for a batch of ", batch_,
                     ", must have a row for each sample");
      }
      if (!std::isfinite(head.weight) || head.weight < 0) {
        return Wrong("head ", name, ": its weight is ", head.weight, ", must be at least 0");
      }
      const double smoothing = head.loss.label_smoothing;
      if (!(smoothing >= 0 && smoothing < 1)) {
        return Wrong("head ", name, ": label smoothing is ", smoothing,
                     ", must be at least 0 and below 1");
      }
      if (smoothing > 0 && head.loss.kind != Loss::kSoftmaxCrossEntropy) {
        return Wrong("head ", name, ": label smoothing is for softmax cross-entropy only");
      }
    }
    if (graph_.heads[0].training_only) {
      return Wrong("head ", graph_.values[graph_.heads[0].value],
                   ": the first head is the prediction and cannot be for training only");
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const int64_t batch_;
  std::vector<Shape> shapes_;
  std::vector<bool> made_, used_parameters_, used_buffers_;
};

}  // namespace

absl::StatusOr<std::vector<Shape>> InferShapes(const Graph& graph, int64_t batch) {
  return Inference(graph, batch).Run();
}

int64_t ParameterCount(const Graph& graph) {
  int64_t count = 0;
  for (const Parameter& p : graph.parameters) count = CappedSum(count, Elements(p.shape));
  return count;
}

std::vector<Block> Blocks(const Graph& graph) {
  std::vector<Block> blocks;
  for (const Node& node : graph.nodes) {
    if (node.parameters.empty()) continue;
    if (blocks.empty() || !node.op->joins_block_before()) blocks.push_back({.name = node.name});
    std::vector<ParameterId>& parameters = blocks.back().parameters;
    parameters.insert(parameters.end(), node.parameters.begin(), node.parameters.end());
  }
  return blocks;
}

}  // namespace gg::model
