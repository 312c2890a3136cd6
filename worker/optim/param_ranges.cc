// SPDX-License-Identifier: Apache-2.0
#include "worker/optim/param_ranges.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"

namespace gg {
namespace {

std::vector<absl::string_view> NamesOf(const ParamArena& arena) {
  std::vector<absl::string_view> names;
  for (BlockIndex b = 0; b < arena.block_count(); ++b) {
    for (const TensorInfo& tensor : arena.block(b).tensors) names.push_back(tensor.name);
  }
  return names;
}

// The values of one field for the parameters in `names`.
absl::StatusOr<std::vector<double>> ValuesOf(absl::string_view field,
                                             const std::map<std::string, double>& patterns,
                                             double otherwise,
                                             const std::vector<absl::string_view>& names) {
  std::vector<double> values(names.size(), otherwise);
  std::vector<absl::string_view> by(names.size());  // the pattern that has set each
  std::vector<std::pair<absl::string_view, double>> longest_first(patterns.begin(), patterns.end());
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  for (const auto& [pattern, value] : longest_first) {
    bool matches = false;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!PatternMatches(pattern, names[i])) continue;
      matches = true;
      if (pattern.size() < by[i].size()) continue;
      if (pattern.size() == by[i].size() && value != values[i]) {
        return absl::InvalidArgumentError(
            absl::StrCat("spec.optimizer.", field, ": \"", by[i], "\" and \"", pattern,
                         "\" are of equal length and give ", names[i],
                         " two values; make the one that counts longer"));
      }
      by[i] = pattern;
      values[i] = value;
    }
    if (matches) continue;
    return absl::InvalidArgumentError(absl::StrCat("spec.optimizer.", field, ": \"", pattern,
                                                   "\" matches no parameter; they are ",
                                                   absl::StrJoin(names, ", ")));
  }
  return values;
}

}  // namespace

bool PatternMatches(absl::string_view pattern, absl::string_view name) {
  // Where the last '*' stands, and how much of the name it has been given so far.
  size_t p = 0, n = 0, star = absl::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

absl::StatusOr<std::vector<ParamRange>> RangesOfParameters(const OptimizerSpec& spec,
                                                           const ParamArena& arena) {
  const std::vector<absl::string_view> names = NamesOf(arena);
  GG_ASSIGN_OR_RETURN(const std::vector<double> decays,
                      ValuesOf("weight_decays", spec.weight_decays, spec.weight_decay, names));
  GG_ASSIGN_OR_RETURN(const std::vector<double> factors,
                      ValuesOf("rate_factors", spec.rate_factors, 1, names));
  std::vector<ParamRange> ranges;
  for (BlockIndex b = 0; b < arena.block_count(); ++b) {
    const BlockInfo& block = arena.block(b);
    for (const TensorInfo& tensor : block.tensors) {
      const size_t i = ranges.size();
      const bool last = &tensor == &block.tensors.back();
      const size_t end = last ? block.offset + block.count : tensor.offset + tensor.count;
      ranges.push_back({tensor.offset, end - tensor.offset, decays[i], factors[i]});
    }
  }
  return ranges;
}

std::vector<ParamRange> Joined(const std::vector<ParamRange>& ranges) {
  std::vector<ParamRange> joined;
  for (const ParamRange& range : ranges) {
    if (!joined.empty() && joined.back().weight_decay == range.weight_decay &&
        joined.back().rate_factor == range.rate_factor) {
      joined.back().count += range.count;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace gg
