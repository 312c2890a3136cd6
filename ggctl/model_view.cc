// SPDX-License-Identifier: Apache-2.0
#include "ggctl/model_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ggctl/format.h"
#include "ggctl/jobfile/job_file.h"

namespace gg {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFloatBytes = 4;
// Blocks begin on cache lines (worker/nn/param_arena.h).
constexpr int64_t kAlignFloats = 16;

const char* LossName(model::Loss::Kind kind) {
  switch (kind) {
    case model::Loss::kSoftmaxCrossEntropy:
      return "softmax_cross_entropy";
    case model::Loss::kMeanSquared:
      return "mean_squared";
    case model::Loss::kBinaryCrossEntropy:
      return "binary_cross_entropy";
  }
  return "unknown";
}

std::string Number(int64_t value) {
  return Thousands(static_cast<double>(value));
}

void AddBlocks(const model::Graph& graph, ModelView* view) {
  std::vector<std::string> block_of(graph.parameters.size());
  for (const model::Block& block : model::Blocks(graph)) {
    int64_t count = 0;
    for (const model::ParameterId p : block.parameters) {
      count = model::CappedSum(count, model::Elements(graph.parameters[p].shape));
      block_of[p] = block.name;
    }
    const int64_t padded = model::CappedSum(count, kAlignFloats - 1) / kAlignFloats * kAlignFloats;
    view->arena_bytes =
        model::CappedSum(view->arena_bytes, model::CappedProduct(padded, kFloatBytes));
    view->blocks.push_back({.name = block.name, .parameters = count});
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    ModelView::Layer& layer = view->layers[i];
    for (const model::ParameterId p : graph.nodes[i].parameters) {
      layer.parameters =
          model::CappedSum(layer.parameters, model::Elements(graph.parameters[p].shape));
      layer.block = block_of[p];
    }
  }
}

std::string HeadText(const ModelView& view, size_t i) {
  const model::Head& head = view.heads[i];
  std::string text = absl::StrCat(view.head_names[i], ", ", LossName(head.loss.kind));
  if (head.weight != 1) absl::StrAppend(&text, ", weight ", head.weight);
  if (head.training_only) absl::StrAppend(&text, ", training only");
  return text;
}

}  // namespace

absl::StatusOr<ModelView> ViewModel(const model::Graph& graph, int64_t batch) {
  GG_ASSIGN_OR_RETURN(const auto one, model::InferShapes(graph, 1));
  GG_ASSIGN_OR_RETURN(const auto shapes, model::InferShapes(graph, batch));
  ModelView view;
  view.name = graph.name;
  view.input = graph.input_shape;
  view.batch = batch;
  view.heads = graph.heads;
  for (const model::Head& head : graph.heads) view.head_names.push_back(graph.values[head.value]);
  for (const model::Shape& shape : one) {
    view.activation_bytes = model::CappedSum(
        view.activation_bytes, model::CappedProduct(model::Elements(shape), kFloatBytes));
  }
  for (const model::Node& node : graph.nodes) {
    std::vector<model::Shape> inputs;
    for (const model::ValueId v : node.inputs) inputs.push_back(one[v]);
    GG_ASSIGN_OR_RETURN(const model::OpDesc desc, node.op->Describe(inputs));
    view.layers.push_back({.name = node.name,
                           .kind = std::string(node.op->kind()),
                           .text = node.op->Text(),
                           .output = shapes[node.outputs[0]],
                           .multiply_adds = desc.multiply_adds,
                           .block = ""});
    view.multiply_adds = model::CappedSum(view.multiply_adds, desc.multiply_adds);
  }
  view.parameters = model::ParameterCount(graph);
  for (const model::Buffer& b : graph.buffers) {
    view.buffers = model::CappedSum(view.buffers, model::Elements(b.shape));
  }
  AddBlocks(graph, &view);
  return view;
}

std::string ModelToText(const ModelView& view) {
  std::vector<std::vector<std::string>> rows = {
      {"LAYER", "KIND", "OUTPUT", "PARAMETERS", "MULTIPLY-ADDS", "ATTRIBUTES"}};
  for (const ModelView::Layer& layer : view.layers) {
    rows.push_back({layer.name, layer.kind, model::ToString(layer.output), Number(layer.parameters),
                    Number(layer.multiply_adds), layer.text.empty() ? "-" : layer.text});
  }
  std::string text =
      absl::StrCat("Model:          ", view.name, ", input ", model::ToString(view.input), ", ",
                   view.classes, view.classes == 1 ? " class" : " classes", ", batch ", view.batch,
                   "\nSource:         ", view.source, "\n\n", Table(rows), "\n");
  const auto largest =
      std::max_element(view.blocks.begin(), view.blocks.end(),
                       [](const auto& a, const auto& b) { return a.parameters < b.parameters; });
  absl::StrAppend(&text, "Parameters:     ", Number(view.parameters), " in ", view.blocks.size(),
                  view.blocks.size() == 1 ? " block" : " blocks");
  if (largest != view.blocks.end()) {
    absl::StrAppend(&text, ", the largest ", largest->name, " with ", Number(largest->parameters));
  }
  absl::StrAppend(&text, "\nNot trained:    ", Number(view.buffers), " running statistics",
                  "\nMultiply-adds:  ", Number(view.multiply_adds), " per sample",
                  "\nActivations:    ", Bytes(static_cast<double>(view.activation_bytes)),
                  " per sample in fp32",
                  "\nArenas:         ", Bytes(static_cast<double>(view.arena_bytes)),
                  " each of parameters, gradients and momentum\n");
  for (size_t i = 0; i < view.heads.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "Heads:          " : "                ", HeadText(view, i),
                    "\n");
  }
  return text;
}

Json ModelToJson(const ModelView& view) {
  Json layers = Json::array(), blocks = Json::array(), heads = Json::array();
  for (const ModelView::Layer& layer : view.layers) {
    layers.push_back({{"name", layer.name},
                      {"kind", layer.kind},
                      {"attributes", layer.text},
                      {"output", layer.output},
                      {"parameters", layer.parameters},
                      {"multiply_adds", layer.multiply_adds},
                      {"block", layer.block.empty() ? Json(nullptr) : Json(layer.block)}});
  }
  for (const ModelView::Block& block : view.blocks) {
    blocks.push_back({{"name", block.name}, {"parameters", block.parameters}});
  }
  for (size_t i = 0; i < view.heads.size(); ++i) {
    const model::Head& head = view.heads[i];
    heads.push_back({{"value", view.head_names[i]},
                     {"loss", LossName(head.loss.kind)},
                     {"label_smoothing", head.loss.label_smoothing},
                     {"weight", head.weight},
                     {"training_only", head.training_only}});
  }
  return {{"apiVersion", kApiVersion},
          {"kind", "Model"},
          {"model", view.name},
          {"source", view.source},
          {"input", view.input},
          {"classes", view.classes},
          {"batch", view.batch},
          {"parameters", view.parameters},
          {"buffers", view.buffers},
          {"multiply_adds", view.multiply_adds},
          {"activation_bytes", view.activation_bytes},
          {"arena_bytes", view.arena_bytes},
          {"layers", std::move(layers)},
          {"blocks", std::move(blocks)},
          {"heads", std::move(heads)}};
}

std::string ModelsToText(const std::vector<ModelView>& views) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "INPUT", "CLASSES", "PARAMETERS", "MULTIPLY-ADDS", "SOURCE"}};
  for (const ModelView& view : views) {
    rows.push_back({absl::StrCat("zoo:", view.name), model::ToString(view.input),
                    absl::StrCat(view.classes), Number(view.parameters), Number(view.multiply_adds),
                    view.source});
  }
  return Table(rows);
}

Json ModelsToJson(const std::vector<ModelView>& views) {
  Json items = Json::array();
  for (const ModelView& view : views) {
    items.push_back({{"model", view.name},
                     {"source", view.source},
                     {"input", view.input},
                     {"classes", view.classes},
                     {"parameters", view.parameters},
                     {"multiply_adds", view.multiply_adds}});
  }
  return {{"apiVersion", kApiVersion}, {"kind", "ModelList"}, {"items", std::move(items)}};
}

}  // namespace gg
