// SPDX-License-Identifier: Apache-2.0
//
// What the networks of the zoo are written with: layers one after the other, with branches where they are asked for.
// Thread-safety: thread-compatible. Errors: the first stays and is returned by Build.
#ifndef GOSSIPGRAD_MODEL_ZOO_NET_H_
#define GOSSIPGRAD_MODEL_ZOO_NET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/builder.h"
#include "model/graph.h"
#include "model/ops/pooling.h"
#include "model/zoo/zoo.h"

namespace gg::model::zoo {

class Net {
 public:
  Net(std::string name, const ZooOptions& options)
      : builder_(std::move(name), options.input), value_(builder_.input()) {}

  // A layer over the value of the last one: Add<Convolution>("conv1", {.out_channels = 20, .window = Square(5)}).
  template <typename O>
  void Add(std::string node, decltype(O::options) options) {
    Join<O>(std::move(node), options, {value_});
  }
  // The same over other values.
  template <typename O>
  void Join(std::string node, decltype(O::options) options, std::vector<ValueId> inputs) {
    value_ = builder_.Add(std::move(node), std::make_shared<const O>(options), std::move(inputs));
  }
  void Relu(std::string node);
  // Nothing where there are rows already.
  void Flatten(std::string node);

  // Where the next layer goes on.
  ValueId value() const { return value_; }
  void GoOnFrom(ValueId value) { value_ = value; }
  const Shape& shape() const { return builder_.shape(value_); }

  // Softmax cross-entropy of the last value.
  void Head(double weight = 1, bool training_only = false);
  absl::StatusOr<Graph> Build() && { return std::move(builder_).Build(); }

 private:
  Builder builder_;
  ValueId value_;
};

PoolOptions MaxPool(int64_t kernel, int64_t stride, int64_t pad = 0);
// With windows over the lower right edge, as Caffe has them.
PoolOptions CaffePool(PoolOptions::Kind kind, int64_t kernel, int64_t stride, int64_t pad = 0);
PoolOptions GlobalMean();

Initializer Normal(double deviation);
Initializer Constant(double value);
Initializer Uniform(double bound);

}  // namespace gg::model::zoo

#endif  // GOSSIPGRAD_MODEL_ZOO_NET_H_
