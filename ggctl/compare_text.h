// SPDX-License-Identifier: Apache-2.0
//
// A comparison as a JSON document and as a table; docs/ggctl.md has the keys.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_COMPARE_TEXT_H_
#define GOSSIPGRAD_GGCTL_COMPARE_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ggctl/comparison.h"
#include "ggctl/tables.h"

namespace gg {

// {"results": [a run: what `local run -o json` prints, with label, settings and curve], "summary",
// "target", "spec"}
nlohmann::ordered_json ComparisonToJson(const Comparison& comparison);

// A row for each item: "mean+-deviation" over the seeds, without spaces inside a cell.
Rows ComparisonTable(const Comparison& comparison);

// A row for each run that did not succeed, with its reason; none without such runs.
Rows FailureTable(const Comparison& comparison);

// "88.12+-0.20%"; one value has no deviation, none is "".
std::string SpreadPercent(const Spread& spread, int digits);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_COMPARE_TEXT_H_
