// SPDX-License-Identifier: Apache-2.0
//
// Which labels a job must have, in Kubernetes' notation: comma-separated terms "key=value" (or
// "=="), "key!=value", "key" (is there) and "!key" (is not). Thread-safety: values.
#ifndef GOSSIPGRAD_GGCTL_SELECTOR_H_
#define GOSSIPGRAD_GGCTL_SELECTOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/map.h"

namespace gg {

class LabelSelector {
 public:
  // "" selects everything. kInvalidArgument names the term that cannot be read.
  static absl::StatusOr<LabelSelector> Parse(absl::string_view text);

  // A label that is not there differs from every value.
  bool Matches(const google::protobuf::Map<std::string, std::string>& labels) const;

 private:
  enum class Operator { kEquals, kDiffers, kExists, kMissing };
  struct Term {
    Operator op = Operator::kExists;
    std::string key, value;
  };
  std::vector<Term> terms_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_SELECTOR_H_
