// SPDX-License-Identifier: Apache-2.0
#include "model/builder.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg::model {

Builder::Builder(std::string name, Shape input_shape) {
  graph_.name = std::move(name);
  graph_.values = {"input"};
  graph_.input = 0;
  graph_.input_shape = std::move(input_shape);
  shapes_ = {{1}};
  shapes_[0].insert(shapes_[0].end(), graph_.input_shape.begin(), graph_.input_shape.end());
  status_ = CheckShape(graph_.input_shape, "the input");
}

const Shape& Builder::shape(ValueId value) const {
  static const Shape& none = *new Shape(4, 1);
  return value >= 0 && value < static_cast<int>(shapes_.size()) ? shapes_[value] : none;
}

ValueId Builder::Add(std::string node, std::shared_ptr<const Op> op, std::vector<ValueId> inputs) {
  if (!status_.ok()) return -1;
  std::vector<Shape> shapes;
  for (const ValueId v : inputs) {
    if (v < 0 || v >= static_cast<int>(shapes_.size())) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat(node, ": reads value ", v, ", which no node before it makes"));
      return -1;
    }
    shapes.push_back(shapes_[v]);
  }
  absl::StatusOr<OpDesc> desc = op->Describe(shapes);
  if (!desc.ok()) {
    status_ = Annotate(desc.status(), node);
    return -1;
  }
  Node made{.name = std::move(node), .op = std::move(op), .inputs = std::move(inputs)};
  for (size_t i = 0; i < desc->outputs.size(); ++i) {
    made.outputs.push_back(static_cast<ValueId>(graph_.values.size()));
    graph_.values.push_back(i == 0 ? made.name : absl::StrCat(made.name, ".", i));
    shapes_.push_back(std::move(desc->outputs[i]));
  }
  for (ParameterDesc& p : desc->parameters) {
    made.parameters.push_back(static_cast<ParameterId>(graph_.parameters.size()));
    graph_.parameters.push_back({.name = absl::StrCat(made.name, ".", p.name),
                                 .shape = std::move(p.shape),
                                 .initial = p.initial});
  }
  for (BufferDesc& b : desc->buffers) {
    made.buffers.push_back(static_cast<BufferId>(graph_.buffers.size()));
    graph_.buffers.push_back({.name = absl::StrCat(made.name, ".", b.name),
                              .shape = std::move(b.shape),
                              .initial = b.initial});
  }
  const ValueId first = made.outputs.empty() ? -1 : made.outputs[0];
  graph_.nodes.push_back(std::move(made));
  return first;
}

void Builder::AddHead(Head head) {
  if (status_.ok()) graph_.heads.push_back(head);
}

absl::StatusOr<Graph> Builder::Build() && {
  GG_RETURN_IF_ERROR(status_);
  // Of two, so that an op that fixes the batch is found.
  GG_RETURN_IF_ERROR(InferShapes(graph_, 2).status());
  return std::move(graph_);
}

}  // namespace gg::model
