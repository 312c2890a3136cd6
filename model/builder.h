// SPDX-License-Identifier: Apache-2.0
//
// Makes a graph node by node, with the parameters that each op asks for. The first error stays and is returned by Build, so
// that a model reads as a list of layers.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_MODEL_BUILDER_H_
#define GOSSIPGRAD_MODEL_BUILDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/graph.h"

namespace gg::model {

class Builder {
 public:
  // `input_shape` without the batch: {channels, height, width}.
  Builder(std::string name, Shape input_shape);

  ValueId input() const { return graph_.input; }
  // Parameters are named "<node>.weight" and so on. Returns the node's first output; -1 after an error.
  ValueId Add(std::string node, std::shared_ptr<const Op> op, std::vector<ValueId> inputs);
  template <typename O, typename Options>
  ValueId Add(std::string node, Options options, std::vector<ValueId> inputs) {
    return Add(std::move(node), std::make_shared<O>(std::move(options)), std::move(inputs));
  }
  void AddHead(Head head);
  // With a batch of one. After an error, of -1: four dimensions of one, so that a model needs no checks of its own.
  const Shape& shape(ValueId value) const;

  // kInvalidArgument: the first thing that was wrong, with the node's name. What Build returns passes InferShapes for any
  // batch that fits.
  absl::StatusOr<Graph> Build() &&;

 private:
  Graph graph_;
  std::vector<Shape> shapes_;
  absl::Status status_;
};

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_BUILDER_H_
