// SPDX-License-Identifier: Apache-2.0
//
// As much of an XML parser as tells whether a page is well-formed: tags that match, quoted
// attributes, escaped text, known entities. Thread-safety: pure function.
#ifndef GOSSIPGRAD_TESTS_UNIT_GGCTL_XML_H_
#define GOSSIPGRAD_TESTS_UNIT_GGCTL_XML_H_

#include <cstddef>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "ggctl/jobfile/text.h"

namespace gg {

// "" or what is wrong, with the text around it.
inline std::string XmlProblem(const std::string& text) {
  static const std::regex kTag(
      R"re(</?[A-Za-z][\w:-]*(\s+[\w:-]+="[^"<]*")*\s*/?>|<!DOCTYPE html>)re");
  static const std::regex kEntity(R"re(&(amp|lt|gt|quot|#39);)re");
  if (const size_t bad = FirstBadByte(text); bad != std::string::npos)
    return "bad byte at " + std::to_string(bad);
  std::vector<std::string> open;
  std::set<std::string> roots;
  for (size_t i = 0; i < text.size();) {
    const auto here = text.begin() + static_cast<std::ptrdiff_t>(i);
    std::smatch match;
    if (text[i] == '&') {
      if (!std::regex_search(here, text.end(), match, kEntity,
                             std::regex_constants::match_continuous))
        return "bare & before " + text.substr(i, 40);
    } else if (text[i] == '<') {
      if (!std::regex_search(here, text.end(), match, kTag, std::regex_constants::match_continuous))
        return "not a tag: " + text.substr(i, 60);
      const std::string tag = match.str();
      const std::string name = tag.substr(1, tag.find_first_of(" />", 2) - 1);
      if (tag[1] == '!') {
        if (!roots.empty()) return "DOCTYPE is not at the beginning";
      } else if (tag[1] == '/') {
        const std::string closing = tag.substr(2, tag.size() - 3);
        if (open.empty() || open.back() != closing)
          return "</" + closing + "> closes " + (open.empty() ? "nothing" : open.back());
        open.pop_back();
      } else {
        if (open.empty() && !roots.insert(name).second) return "a second root";
        if (open.empty() && roots.size() > 1) return "more than one root";
        if (tag[tag.size() - 2] != '/') open.push_back(name);
      }
    } else {
      ++i;
      continue;
    }
    i += static_cast<size_t>(match.length());
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_GGCTL_XML_H_
