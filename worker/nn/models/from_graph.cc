// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/models/from_graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "model/ops/convolution.h"
#include "model/ops/elementwise.h"
#include "model/ops/linear.h"
#include "model/ops/normalization.h"
#include "model/ops/pooling.h"
#include "model/ops/shape_ops.h"
#include "worker/nn/layers/batch_norm.h"
#include "worker/nn/layers/convolution.h"
#include "worker/nn/layers/dropout.h"
#include "worker/nn/layers/linear.h"
#include "worker/nn/layers/pooling.h"
#include "worker/nn/layers/relu.h"

namespace gg {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Layer>>;

template <typename... Parts>
absl::Status Cannot(const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat("this engine cannot compute yet: ", absl::StrCat(parts...)));
}

bool IsSquare(const model::Window& w) {
  return w.kernel[0] == w.kernel[1] && w.stride[0] == w.stride[1] &&
         w.dilation == std::array<int64_t, 2>{1, 1} &&
         std::all_of(w.pad.begin(), w.pad.end(), [&](int64_t pad) { return pad == w.pad[0]; });
}

Made Make(const std::string& name, const model::Convolution& op) {
  const model::ConvolutionOptions& o = op.options;
  if (!IsSquare(o.window) || o.groups != 1) return Cannot("convolution of ", op.Text());
  return MakeConvolution(name, {.out_channels = o.out_channels,
                                .kernel = o.window.kernel[0],
                                .stride = o.window.stride[0],
                                .pad = o.window.pad[0],
                                .bias = o.bias});
}

Made Make(const std::string& name, const model::Pool& op) {
  const model::PoolOptions& o = op.options;
  if (o.global || !IsSquare(o.window) || o.window.pad[0] != 0) {
    return Cannot("pool, ", op.Text());
  }
  return MakePooling(
      name, {.kind = o.kind == model::PoolOptions::kMax ? PoolKind::kMax : PoolKind::kAverage,
             .kernel = o.window.kernel[0],
             .stride = o.window.stride[0],
             .ceil_mode = o.window.ceil_mode});
}

Made Make(const std::string& name, const model::BatchNorm& op) {
  const model::BatchNormOptions usual;
  if (op.options.epsilon != usual.epsilon || op.options.momentum != usual.momentum) {
    return Cannot("batch_norm with ", op.Text());
  }
  return MakeBatchNormLayer(name);
}

// Null where nothing is to be computed.
Made MakeLayer(const model::Node& node, const model::Shape& input) {
  const model::Op* op = node.op.get();
  if (const auto* o = dynamic_cast<const model::Convolution*>(op)) return Make(node.name, *o);
  if (const auto* o = dynamic_cast<const model::Pool*>(op)) return Make(node.name, *o);
  if (const auto* o = dynamic_cast<const model::BatchNorm*>(op)) return Make(node.name, *o);
  if (const auto* o = dynamic_cast<const model::Linear*>(op)) {
    if (input.size() != 2) return Cannot("linear over ", model::ToString(input), ": flatten first");
    return MakeLinearLayer(node.name, o->options.out_features, o->options.bias);
  }
  if (const auto* o = dynamic_cast<const model::Unary*>(op)) {
    if (o->options.kind != model::UnaryOptions::kRelu) return Cannot("unary, ", o->Text());
    return MakeRelu(node.name);
  }
  if (const auto* o = dynamic_cast<const model::Dropout*>(op)) {
    return MakeDropout(node.name, o->options.probability);
  }
  if (const auto* o = dynamic_cast<const model::Flatten*>(op)) {
    if (o->options.axis != 1) return Cannot("flatten ", o->Text());
    return std::unique_ptr<Layer>();  // layers see their input as it is convenient
  }
  return Cannot(op->kind(), op->Text().empty() ? "" : absl::StrCat(", ", op->Text()));
}

absl::Status CheckParameters(const model::Graph& graph, const model::Node& node,
                             const std::vector<ParameterSpec>& made) {
  for (size_t i = 0; i < node.parameters.size(); ++i) {
    const model::Parameter& p = graph.parameters[node.parameters[i]];
    const model::Initializer start = {
        .kind = made[i].bound == 0 ? model::Initializer::kConstant : model::Initializer::kUniform,
        .bound = made[i].bound,
        .centre = made[i].centre};
    if (p.values != nullptr || !(p.initial == start)) {
      return Cannot(node.op->kind(), " whose ", p.name,
                    " starts otherwise than weights uniform within sqrt(3 / fan-in), biases 0");
    }
  }
  return absl::OkStatus();
}

// (N, C, H, W) or rows.
absl::StatusOr<InputShape> ToInput(const model::Shape& shape) {
  if (shape.size() == 2) return InputShape{shape[1], 1, 1};
  if (shape.size() == 4) return InputShape{shape[1], shape[2], shape[3]};
  return Cannot("a value of ", model::ToString(shape), ", neither images nor rows");
}

absl::Status CheckHead(const model::Graph& graph, model::ValueId last) {
  const model::Head& head = graph.heads[0];
  const bool usual = graph.heads.size() == 1 && head.value == last && head.weight == 1 &&
                     head.loss.kind == model::Loss::kSoftmaxCrossEntropy &&
                     head.loss.label_smoothing == 0;
  return usual ? absl::OkStatus()
               : Cannot("other heads than one softmax cross-entropy of the last value");
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Layer>>> LayersFromGraph(const model::Graph& graph) {
  GG_ASSIGN_OR_RETURN(const auto shapes, model::InferShapes(graph, 1));
  std::vector<std::unique_ptr<Layer>> layers;
  model::ValueId last = graph.input;
  for (const model::Node& node : graph.nodes) {
    if (node.inputs != std::vector<model::ValueId>{last} || node.outputs.size() != 1) {
      return Annotate(Cannot(node.op->kind(), " that does not read just the node before it"),
                      node.name);
    }
    Made layer = MakeLayer(node, shapes[last]);
    if (!layer.ok()) return Annotate(layer.status(), node.name);
    if (*layer != nullptr) {
      GG_ASSIGN_OR_RETURN(const InputShape input, ToInput(shapes[last]));
      GG_RETURN_IF_ERROR(
          Annotate(CheckParameters(graph, node, (*layer)->Parameters(input)), node.name));
      layers.push_back(*std::move(layer));
    }
    last = node.outputs[0];
  }
  GG_RETURN_IF_ERROR(CheckHead(graph, last));
  return layers;
}

}  // namespace gg
