// SPDX-License-Identifier: Apache-2.0
#include "ggctl/report/page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ggctl/jobfile/text.h"

namespace gg {
namespace {

// The colours are Okabe and Ito's ("Color Universal Design", 2008) without yellow, which is lost on
// white; on a dark ground they are lighter. No character here may need escaping.
constexpr absl::string_view kStyle = R"css(
:root { color-scheme: light dark; --page: #ffffff; --ink: #1a1a1a; --soft: #5a5a5a; --rule: #d8d8d8; --zebra: #f5f5f5;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b8558f; --c4: #b97700; --c5: #56b4e9; --c6: #444444; }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --ink: #e8e8e8; --soft: #a8a8a8; --rule: #3a3e45;
  --zebra: #1f2228; --c0: #4a9fe0; --c1: #ff8a47; --c2: #2fc99b; --c3: #e59bc6; --c4: #f0b53f; --c5: #a8ddff; --c6: #d0d0d0; } }
body { background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 24px;
  max-width: 1240px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 28px 0 8px; }
p { margin: 6px 0; max-width: 85ch; } .missing { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 8px; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: normal; }
td:first-child { white-space: normal; } .part { white-space: nowrap; }
th:first-child, td:first-child, .words th, .words td { text-align: left; }
.words td { white-space: normal; } tbody tr:nth-child(even) { background: var(--zebra); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 540px), 1fr)); gap: 22px; }
figure { margin: 0; break-inside: avoid; } figcaption { font-weight: 600; margin-bottom: 6px; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--rule); } .axis { stroke: var(--soft); } .spread { stroke: var(--ink); stroke-width: 1.5; }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; } .faint { stroke-width: 1; opacity: .35; }
.lead { stroke-width: 1; opacity: .6; } .bar { stroke: none; }
.line.d1, .bar.d1 { stroke-dasharray: 7 4; } .line.d2 { stroke-dasharray: 2 3; } .line.d3 { stroke-dasharray: 9 3 2 3; }
pre { background: var(--zebra); border: 1px solid var(--rule); padding: 12px; font-size: 13px; white-space: pre-wrap; }
@media print { :root { color-scheme: light; --page: #ffffff; --ink: #000000; --soft: #444444; --rule: #cccccc; --zebra: #f5f5f5;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b8558f; --c4: #b97700; --c5: #56b4e9; --c6: #444444; }
  body { max-width: none; padding: 0; font-size: 11px; } .figures { grid-template-columns: 1fr 1fr; } table { font-size: 9px; }
  th, td { padding: 2px 4px; } tr { break-inside: avoid; } .scroll { overflow: visible; } }
)css";

// ".c0.line { stroke: var(--c0); }" and so on; the same variable serves lines and areas.
std::string ColorRules(int colors) {
  std::string rules;
  for (int i = 0; i < colors; ++i) {
    absl::StrAppend(&rules, ".c", i, " { stroke: var(--c", i, "); } .bar.c", i, ", .end.c", i,
                    " { fill: var(--c", i, "); }\n");
  }
  return rules;
}

// A name breaks after its colons only, never inside a word.
std::string Name(absl::string_view name) {
  std::string out;
  for (size_t begin = 0; begin < name.size();) {
    const size_t colon = name.find(':', begin);
    const size_t end = colon == absl::string_view::npos ? name.size() : colon + 1;
    absl::StrAppend(&out, begin == 0 ? "" : "<wbr/>", "<span class=\"part\">",
                    Escaped(name.substr(begin, end - begin)), "</span>");
    begin = end;
  }
  return out;
}

}  // namespace

std::string AsText(absl::string_view text) {
  return PrintableLines(text);
}

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(
      AsText(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

Page::Page(absl::string_view title) {
  head_ = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
      Escaped(title), "</title>\n<style>", kStyle, ColorRules(kPageColors),
      "</style></head>\n<body>\n<h1>", Escaped(title), "</h1>\n");
}

void Page::Heading(absl::string_view text) {
  absl::StrAppend(&body_, "<h2>", Escaped(text), "</h2>\n");
}

void Page::Paragraph(absl::string_view text) {
  absl::StrAppend(&body_, "<p>", Escaped(text), "</p>\n");
}

void Page::Table(const std::vector<std::vector<std::string>>& rows, bool words) {
  absl::StrAppend(&body_, "<div class=\"scroll\"><table", words ? " class=\"words\"" : "", ">");
  for (size_t i = 0; i < rows.size(); ++i) {
    const absl::string_view cell = i == 0 ? "th" : "td";
    if (i == 0) absl::StrAppend(&body_, "<thead>");
    absl::StrAppend(&body_, "<tr>");
    for (size_t k = 0; k < rows[i].size(); ++k) {
      const std::string& value = rows[i][k];
      absl::StrAppend(&body_, "<", cell, ">", i > 0 && k == 0 ? Name(value) : Escaped(value), "</",
                      cell, ">");
    }
    absl::StrAppend(&body_, "</tr>\n", i == 0 ? "</thead><tbody>\n" : "");
  }
  absl::StrAppend(&body_, rows.empty() ? "" : "</tbody>", "</table></div>\n");
}

void Page::Figures(const std::vector<std::string>& figures) {
  absl::StrAppend(&body_, "<div class=\"figures\">\n");
  for (const std::string& figure : figures) body_ += figure;
  absl::StrAppend(&body_, "</div>\n");
}

void Page::Code(absl::string_view text) {
  absl::StrAppend(&body_, "<pre>", Escaped(text), "</pre>\n");
}

std::string Page::Html() const {
  return absl::StrCat(head_, body_, "</body></html>\n");
}

}  // namespace gg
