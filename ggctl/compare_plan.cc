// SPDX-License-Identifier: Apache-2.0
#include "ggctl/compare_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr absl::string_view kAlgorithm = "exchange.algorithm";

absl::StatusOr<CompareItem> ParseItem(absl::string_view text) {
  CompareItem item;
  item.label = std::string(text);
  bool first = true;
  for (const absl::string_view part : absl::StrSplit(text, ':')) {
    if (first) {
      item.algorithm = std::string(part);
      first = false;
      if (part.empty() || part.find('=') != absl::string_view::npos) {
        return absl::InvalidArgumentError(
            absl::StrCat("--algorithms: \"", text, "\" does not begin with the name of a method"));
      }
      continue;
    }
    const size_t equals = part.find('=');
    if (equals == absl::string_view::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--algorithms: expected FIELD=VALUE after each ':' of \"", text,
                       "\", got \"", part, "\""));
    }
    absl::string_view path = part.substr(0, equals);
    absl::ConsumePrefix(&path, "spec.");
    const bool whole = path.find('.') != absl::string_view::npos;
    std::string field = whole ? std::string(path) : absl::StrCat("exchange.", path);
    if (field == kAlgorithm) {
      return absl::InvalidArgumentError(
          absl::StrCat("--algorithms: \"", text,
                       "\" begins with its method and sets another one; "
                       "write ",
                       part.substr(equals + 1), " in the place of ", item.algorithm));
    }
    if (std::any_of(item.settings.begin(), item.settings.end(),
                    [&](const auto& other) { return other.first == field; })) {
      return absl::InvalidArgumentError(
          absl::StrCat("--algorithms: \"", text, "\" sets ", field, " twice; leave one out"));
    }
    item.settings.emplace_back(std::move(field), part.substr(equals + 1));
  }
  return item;
}

}  // namespace

std::vector<Override> CompareItem::overrides() const {
  const std::string option = absl::StrCat("--algorithms ", label);
  std::vector<Override> all = {{absl::StrCat(kAlgorithm, "=", algorithm), option}};
  for (const auto& [path, value] : settings)
    all.push_back({absl::StrCat(path, "=", value), option});
  return all;
}

absl::StatusOr<std::vector<CompareItem>> ParseCompareItems(absl::string_view list) {
  std::vector<CompareItem> items;
  for (absl::string_view text : absl::StrSplit(list, ',')) {
    text = absl::StripAsciiWhitespace(text);
    if (text.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--algorithms: an empty item in \"", list, "\""));
    }
    GG_ASSIGN_OR_RETURN(CompareItem item, ParseItem(text));
    if (std::any_of(items.begin(), items.end(),
                    [&](const CompareItem& other) { return other.label == item.label; })) {
      return absl::InvalidArgumentError(
          absl::StrCat("--algorithms: \"", item.label, "\" stands there twice"));
    }
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace gg
