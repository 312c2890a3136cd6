// SPDX-License-Identifier: Apache-2.0
//
// A network as plain data: what is computed from what, with which parameters. The zoo and the ONNX reader make graphs;
// `ggctl model inspect`, the ONNX writer and the engine (worker/nn) read them. Nothing here computes.
//
// Values are numbered in the order in which they appear; a node's inputs come before it, so the order of `nodes` is an
// order of computation. Dimension 0 of every activation is the batch.
//
// Thread-safety: values.
#ifndef GOSSIPGRAD_MODEL_GRAPH_H_
#define GOSSIPGRAD_MODEL_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/op.h"

namespace gg::model {

using ValueId = int;
using ParameterId = int;
using BufferId = int;

// A trained tensor. Its name is what checkpoints and PyTorch call it ("layer1.0.conv1.weight").
struct Parameter {
  std::string name;
  Shape shape;
  Initializer initial;
  // Values from a file, as many as `shape` has; they take the place of `initial`.
  std::shared_ptr<const std::vector<float>> values = nullptr;
};

// What belongs to the model and is not trained by gradients (running statistics).
struct Buffer {
  std::string name;
  Shape shape;
  float initial = 0;
  std::shared_ptr<const std::vector<float>> values = nullptr;
};

struct Node {
  std::string name;  // unique
  std::shared_ptr<const Op> op;
  std::vector<ValueId> inputs = {}, outputs = {};
  std::vector<ParameterId> parameters = {};  // in the order of Op::Describe
  std::vector<BufferId> buffers = {};
};

// Of a head's values and what the data says of the sample. Means over the batch.
struct Loss {
  // kSoftmaxCrossEntropy: rows of logits against class numbers. kMeanSquared: against targets of the same shape (of class
  // numbers: one-hot). kBinaryCrossEntropy: logits against targets in 0 .. 1 (of class numbers: one-hot).
  enum Kind { kSoftmaxCrossEntropy, kMeanSquared, kBinaryCrossEntropy } kind = kSoftmaxCrossEntropy;
  double label_smoothing =
      0;  // softmax only: this share of the target is spread over all classes, [0, 1)
};

// An output that is trained: the network's loss is the sum of weight * loss over the heads.
struct Head {
  ValueId value;
  Loss loss = {};
  double weight = 1;  // GoogLeNet's auxiliary classifiers: 0.3
  // The head and what only it needs are left out at inference.
  bool training_only = false;
};

struct Graph {
  std::string name;
  std::vector<std::string> values;  // names by ValueId
  ValueId input = -1;
  Shape input_shape;  // of one sample: without the batch
  std::vector<Node> nodes;
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::vector<Head> heads;  // the first is the prediction
};

// By ValueId, for `batch` samples. kInvalidArgument: the graph is not sound (unknown or late value, a name twice, a value
// nobody makes, a parameter or buffer of no node, of two nodes or of another shape than its op says, no head, a head without
// the batch) or an op refuses its inputs; names the node and says what would do.
absl::StatusOr<std::vector<Shape>> InferShapes(const Graph& graph, int64_t batch);

int64_t ParameterCount(const Graph& graph);

// The parameters that are exchanged at once, in the order of the nodes: one block for each node that has any; one that joins
// (Op::joins_block_before) belongs to the block before it, if there is one.
struct Block {
  std::string name;                          // of its first node
  std::vector<ParameterId> parameters = {};  // at least one
};
std::vector<Block> Blocks(const Graph& graph);

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_GRAPH_H_
