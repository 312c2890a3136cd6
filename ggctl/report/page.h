// SPDX-License-Identifier: Apache-2.0
//
// One HTML document with its own style, for light and dark screens and for paper. Well-formed XML.
// Thread-safety: Page is thread-compatible; the functions are pure.
#ifndef GOSSIPGRAD_GGCTL_REPORT_PAGE_H_
#define GOSSIPGRAD_GGCTL_REPORT_PAGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gg {

// Colours of the style that eyes tell apart; further series begin again with other dashes.
inline constexpr int kPageColors = 7;

// Valid UTF-8 without control characters; ends of lines stay.
std::string AsText(absl::string_view text);
// The same between tags and inside quoted attributes.
std::string Escaped(absl::string_view text);

class Page {
 public:
  explicit Page(absl::string_view title);

  void Heading(absl::string_view text);
  void Paragraph(absl::string_view text);
  // The first row is the head. A first column of names to the left, all others to the right unless
  // `words`.
  void Table(const std::vector<std::vector<std::string>>& rows, bool words = false);
  // Figures of charts.h, side by side where there is room.
  void Figures(const std::vector<std::string>& figures);
  void Code(absl::string_view text);

  // The document so far, closed.
  std::string Html() const;

 private:
  std::string body_;
  std::string head_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_REPORT_PAGE_H_
