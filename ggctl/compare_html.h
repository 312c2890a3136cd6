// SPDX-License-Identifier: Apache-2.0
//
// A comparison as one HTML file.
// Thread-safety: pure function.
#ifndef GOSSIPGRAD_GGCTL_COMPARE_HTML_H_
#define GOSSIPGRAD_GGCTL_COMPARE_HTML_H_

#include <string>

#include "ggctl/comparison.h"

namespace gg {

std::string ComparisonToHtml(const Comparison& comparison);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_COMPARE_HTML_H_
