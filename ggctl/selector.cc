// SPDX-License-Identifier: Apache-2.0
#include "ggctl/selector.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gg {

absl::StatusOr<LabelSelector> LabelSelector::Parse(absl::string_view text) {
  LabelSelector selector;
  if (absl::StripAsciiWhitespace(text).empty()) return selector;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    absl::string_view term = absl::StripAsciiWhitespace(part);
    Term out;
    if (const size_t equals = term.find('='); equals != absl::string_view::npos) {
      absl::string_view key = term.substr(0, equals), value = term.substr(equals + 1);
      out.op = absl::ConsumeSuffix(&key, "!") ? Operator::kDiffers : Operator::kEquals;
      if (out.op == Operator::kEquals) absl::ConsumePrefix(&value, "=");
      out.key = std::string(absl::StripAsciiWhitespace(key));
      out.value = std::string(absl::StripAsciiWhitespace(value));
    } else {
      out.op = absl::ConsumePrefix(&term, "!") ? Operator::kMissing : Operator::kExists;
      out.key = std::string(absl::StripAsciiWhitespace(term));
    }
    if (out.key.empty() || out.key.find('!') != std::string::npos ||
        out.value.find('=') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("-l: cannot read \"", part,
                       "\"; expected key=value, key!=value, key or !key, separated by commas"));
    }
    selector.terms_.push_back(std::move(out));
  }
  return selector;
}

bool LabelSelector::Matches(const google::protobuf::Map<std::string, std::string>& labels) const {
  for (const Term& term : terms_) {
    const auto label = labels.find(term.key);
    const bool there = label != labels.end();
    const bool equal = there && label->second == term.value;
    bool good = false;
    switch (term.op) {
      case Operator::kEquals:
        good = equal;
        break;
      case Operator::kDiffers:
        good = !equal;
        break;
      case Operator::kExists:
        good = there;
        break;
      case Operator::kMissing:
        good = !there;
        break;
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace gg
