// SPDX-License-Identifier: Apache-2.0
#include "ggctl/jobfile/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gg {
namespace {

constexpr size_t kMaxDepth = 16;
// After so many problems of form the rest is noise.
constexpr size_t kMaxProblems = 50;
constexpr int kMaxEmptyDocuments = 8;

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(absl::string_view text, std::vector<Problem>* problems)
      : text_(text), problems_(problems) {}

  YamlNode TakeRoot() { return std::move(root_); }

  // yaml-cpp counts lines and columns from 0, columns in bytes.
  Position Where(const YAML::Mark& mark) const {
    if (mark.is_null()) return {1, 1};
    const absl::string_view line = LineOf(text_, mark.line + 1);
    const size_t bytes = std::min(line.size(), static_cast<size_t>(std::max(0, mark.column)));
    return {mark.line + 1, static_cast<int>(CountCharacters(line.substr(0, bytes))) + 1};
  }

  void Complain(const Position& position, std::string message, std::string suggestion) {
    if (problems_->size() >= kMaxProblems) return;
    Problem problem;
    problem.position = position;
    problem.message = std::move(message);
    problem.suggestion = std::move(suggestion);
    problems_->push_back(std::move(problem));
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckAnchor(mark, anchor);
    Add(MakeNode(YamlNode::Kind::kNull, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Complain(Where(mark), "aliases (*name) are not supported", "write the value out");
    Add(MakeNode(YamlNode::Kind::kNull, mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckAnchor(mark, anchor);
    CheckTag(mark, tag);
    YamlNode node = MakeNode(YamlNode::Kind::kScalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  YamlNode MakeNode(YamlNode::Kind kind, const YAML::Mark& mark) const {
    YamlNode node;
    node.kind = kind;
    node.position = Where(mark);
    return node;
  }

  void CheckAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0)
      Complain(Where(mark), "anchors (&name) are not supported", "write the value out");
  }
  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    Complain(Where(mark), absl::StrCat("tags are not supported, got ", tag), "remove the tag");
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    CheckAnchor(mark, anchor);
    CheckTag(mark, tag);
    if (open_.size() == kMaxDepth && too_deep_++ == 0) {
      Complain(Where(mark), absl::StrCat("nested deeper than ", kMaxDepth, " levels"),
               "a job file has four; close the brackets before this place");
    } else if (too_deep_ > 0) {
      ++too_deep_;
    }
    if (too_deep_ == 0) open_.push_back(MakeNode(kind, mark));
  }
  void Close() {
    if (too_deep_ > 0) {
      // Stands for all that was left out, so that keys keep their values.
      if (--too_deep_ == 0) Add(YamlNode());
      return;
    }
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    Add(std::move(node));
  }
  void Add(YamlNode node) {
    if (too_deep_ > 0) return;
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().items.push_back(std::move(node));
    }
  }

  const absl::string_view text_;
  std::vector<Problem>* const problems_;
  std::vector<YamlNode> open_;  // the lists and maps around the current place
  size_t too_deep_ = 0;         // levels opened below kMaxDepth
  YamlNode root_;
};

std::string SyntaxHint(absl::string_view line) {
  if (absl::StrContains(line, "\t")) return "YAML does not allow tabs for indentation; use spaces";
  if (absl::StrContains(line, ": ") && line.find(": ") != line.rfind(": ")) {
    return "put quotes around a value that holds \": \"";
  }
  return "check the indentation and the brackets and quotes before this place";
}

}  // namespace

absl::string_view KindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "a value";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a mapping";
  }
  return "nothing";
}

YamlNode ParseYaml(absl::string_view text, std::vector<Problem>* problems) {
  TreeBuilder builder(text, problems);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return {};
    YamlNode root = builder.TakeRoot();
    std::vector<Problem> unused;
    TreeBuilder next(text, &unused);
    // "---" or "..." at the end of a file is an empty document. Bounded: after some malformed ends
    // yaml-cpp 0.7 hands out empty documents for ever.
    for (int empty = 0; parser.HandleNextDocument(next); ++empty) {
      const YamlNode other = next.TakeRoot();
      if (other.kind == YamlNode::Kind::kNull && empty < kMaxEmptyDocuments) continue;
      const bool is_null = other.kind == YamlNode::Kind::kNull;
      builder.Complain(is_null ? PositionOf(text, text.size()) : other.position,
                       is_null ? "not valid YAML: the end of the file cannot be read"
                               : "a second document begins here",
                       "one job per file: split the file at \"---\"");
      break;
    }
    return root;
  } catch (const YAML::Exception& e) {
    const Position position = builder.Where(e.mark);
    builder.Complain(position, absl::StrCat("not valid YAML: ", e.msg),
                     SyntaxHint(LineOf(text, position.line)));
  } catch (const std::exception& e) {
    builder.Complain({1, 1}, absl::StrCat("not valid YAML: ", e.what()), "");
  }
  return {};
}

}  // namespace gg
