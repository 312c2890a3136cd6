// SPDX-License-Identifier: Apache-2.0
//
// YAML as a plain tree with the position of each key and value. A small part of YAML, on purpose:
// one document, no anchors and aliases (a few bytes of them can stand for gigabytes), no tags,
// bounded depth and size. Thread-safety: values and pure functions.
#ifndef GOSSIPGRAD_GGCTL_JOBFILE_YAML_TREE_H_
#define GOSSIPGRAD_GGCTL_JOBFILE_YAML_TREE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ggctl/jobfile/problem.h"
#include "ggctl/jobfile/text.h"

namespace gg {

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  Position position;
  std::string text;             // kScalar
  bool quoted = false;          // kScalar: written in quotes or as a block
  std::vector<YamlNode> items;  // kList: elements; kMap: key, value, key, value, ...
};

// "a value", "a list", "a mapping", "nothing".
absl::string_view KindName(YamlNode::Kind kind);

// Reads `text` (valid UTF-8). Problems are appended with position, message and suggestion; what
// could be read is returned all the same.
YamlNode ParseYaml(absl::string_view text, std::vector<Problem>* problems);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOBFILE_YAML_TREE_H_
