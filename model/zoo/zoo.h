// SPDX-License-Identifier: Apache-2.0
//
// The networks of the field, one file each. To add one: its file, a line here, a line in zoo.cc's table, a golden case.
//
// Thread-safety: pure functions. Errors: kInvalidArgument names the model and what its input or options must be.
#ifndef GOSSIPGRAD_MODEL_ZOO_ZOO_H_
#define GOSSIPGRAD_MODEL_ZOO_ZOO_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/graph.h"

namespace gg::model {

struct ZooOptions {
  Shape input;  // channels, height, width
  int64_t classes = 10;
  std::vector<int64_t> hidden = {512};  // mlp
  double dropout = 0;                   // mlp
};

// kInvalidArgument: unknown (lists those known), an input that is too small, impossible options.
absl::StatusOr<Graph> MakeZooModel(absl::string_view name, const ZooOptions& options);

struct ZooEntry {
  absl::string_view name;
  absl::string_view source;  // the paper or prototxt
  Shape usual_input;
  int64_t usual_classes;
};
const std::vector<ZooEntry>& Zoo();

}  // namespace gg::model

#endif  // GOSSIPGRAD_MODEL_ZOO_ZOO_H_
