// SPDX-License-Identifier: Apache-2.0
#include "ggctl/jobfile/job_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/spec/schema.h"
#include "core/spec/suggest.h"
#include "core/spec/validate.h"
#include "core/status.h"
#include "ggctl/jobfile/text.h"
#include "ggctl/jobfile/yaml_tree.h"

namespace gg {
namespace {

constexpr absl::string_view kBom = "\xEF\xBB\xBF";

std::string Join(absl::string_view section, absl::string_view name) {
  return section.empty() ? std::string(name) : absl::StrCat(section, ".", name);
}

std::string Absolute(const std::string& path, const std::string& folder) {
  const std::filesystem::path given(path);
  if (given.is_absolute() || folder.empty()) return path;
  return (std::filesystem::path(folder) / given).lexically_normal().string();
}

// The fields that name files.
struct PathField {
  absl::string_view path;
  std::string& (*of)(JobSpec& spec);
};
constexpr PathField kPathFields[] = {
    {"spec.data.path", [](JobSpec& spec) -> std::string& { return spec.data.path; }},
    {"spec.exchange.graph_file",
     [](JobSpec& spec) -> std::string& { return spec.exchange.graph_file; }},
};

std::string TypePhrase(FieldType type) {
  const absl::string_view name = FieldTypeName(type);
  return absl::StrCat(name[0] == 'i' || name[0] == 'u' ? "an " : "a ", name);
}

class Reader {
 public:
  explicit Reader(const JobFileInput& input) : input_(input) { file_.text = input.text; }

  JobFile Run() {
    if (!CheckText() || !ReadRoot()) return Finish();
    for (const PathField& field : kPathFields) {
      std::string& path = field.of(file_.spec);
      if (!path.empty()) path = Absolute(path, input_.folder);
    }
    for (const Override& override_ : input_.overrides) Apply(override_);
    CheckMeaning();
    return Finish();
  }

 private:
  // ---- form ----

  bool CheckText() {
    if (absl::StartsWith(file_.text, kBom)) file_.text.erase(0, kBom.size());
    if (file_.text.size() > kMaxJobFileBytes) {
      Add({1, 1}, "", absl::StrCat("larger than ", kMaxJobFileBytes / 1024, " KiB"),
          "is this the right file?");
      return false;
    }
    const size_t bad = FirstBadByte(file_.text);
    if (bad == absl::string_view::npos) return true;
    const Position position = PositionOf(file_.text, bad);
    const unsigned value = static_cast<unsigned char>(file_.text[bad]);
    // The text is shown to a terminal: nothing of it that is not plain text.
    file_.text.resize(bad);
    Add(position, "",
        absl::StrCat("not a UTF-8 text file: byte 0x", absl::Hex(value, absl::kZeroPad2)),
        "save the file as UTF-8 text");
    return false;
  }

  // False when there is too little to go on: what is missing then says nothing.
  bool ReadRoot() {
    std::vector<Problem> problems;
    const YamlNode root = ParseYaml(file_.text, &problems);
    for (Problem& problem : problems) AddError(std::move(problem));
    if (root.kind == YamlNode::Kind::kNull) {
      if (problems.empty()) {
        Add({1, 1}, "", "the file is empty", "`ggctl explain` shows what a job file holds");
      }
      return false;
    }
    if (root.kind != YamlNode::Kind::kMap) {
      Add(root.position, "",
          absl::StrCat("expected a mapping with apiVersion, kind, metadata and spec, got ",
                       KindName(root.kind)),
          "`ggctl explain` shows what a job file holds");
      return false;
    }
    ReadMap(root, "");
    CheckConstant(root, "apiVersion", kApiVersion);
    CheckConstant(root, "kind", kJobKind);
    if (!places_.contains("spec")) {
      Add(root.position, "spec", "is required", "`ggctl explain spec` lists its fields");
    }
    return true;
  }

  // `section` is "", "metadata", "spec", "spec.model", ...
  void ReadMap(const YamlNode& map, const std::string& section) {
    std::map<std::string, Position> seen;
    for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
      const YamlNode& key = map.items[i];
      const YamlNode& value = map.items[i + 1];
      if (key.kind != YamlNode::Kind::kScalar) {
        Add(key.position, section,
            absl::StrCat("expected a name before the colon, got ", KindName(key.kind)),
            "write name: value");
        continue;
      }
      const std::string path = Join(section, key.text);
      const auto [first, is_new] = seen.emplace(key.text, key.position);
      if (!is_new) {
        Add(key.position, path, absl::StrCat("given twice, first in line ", first->second.line),
            "remove one of them");
        continue;
      }
      ReadMember(section, key, value, path);
    }
  }

  void ReadMember(const std::string& section, const YamlNode& key, const YamlNode& value,
                  const std::string& path) {
    places_[path] = key.position;
    if (section.empty() && (key.text == "apiVersion" || key.text == "kind"))
      return;  // CheckConstant
    if (FindSection(path) != nullptr) {
      if (value.kind == YamlNode::Kind::kMap) {
        ReadMap(value, path);
      } else if (value.kind != YamlNode::Kind::kNull) {
        Add(value.position, path,
            absl::StrCat("expected a mapping of fields, got ", KindName(value.kind)),
            absl::StrCat("fields: ", absl::StrJoin(MemberNames(path), ", ")));
      }
      return;
    }
    const Field* field = FindField(path);
    if (field == nullptr) {
      AddUnknown(section, key, path);
      return;
    }
    places_[path] = value.kind == YamlNode::Kind::kNull ? key.position : value.position;
    ReadField(*field, value);
  }

  void AddUnknown(const std::string& section, const YamlNode& key, const std::string& path) {
    const std::vector<std::string> names = MemberNames(section);
    std::string suggestion;
    if (const std::string near = Nearest(key.text, names); !near.empty()) {
      suggestion = absl::StrCat("did you mean \"", near, "\"?");
    } else if (const std::string elsewhere = FieldNamed(key.text); !elsewhere.empty()) {
      suggestion = absl::StrCat("that field belongs to ", elsewhere);
    } else {
      suggestion = absl::StrCat("known here: ", absl::StrJoin(names, ", "));
    }
    Add(key.position, path, "unknown field", suggestion);
  }

  // The section of the only field with that last name, "" when there is none or more than one.
  static std::string FieldNamed(absl::string_view leaf) {
    std::string section;
    for (const Field& field : Fields()) {
      if (field.leaf() != leaf) continue;
      if (!section.empty()) return "";
      section = std::string(field.path.substr(0, field.path.rfind('.')));
    }
    return section;
  }

  // ---- values ----

  void ReadField(const Field& field, const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kNull) {
      Add(places_[std::string(field.path)], field.path, "has no value",
          "remove the line to get the default");
      return;
    }
    absl::StatusOr<FieldValue> value = FieldValue();
    if (field.type == FieldType::kStringMap) {
      value = ReadMap<std::string>(field, node);
    } else if (field.type == FieldType::kFloatMap) {
      value = ReadMap<double>(field, node);
    } else if (field.type == FieldType::kIntList && node.kind == YamlNode::Kind::kList) {
      value = ReadIntList(field, node);
    } else if (node.kind != YamlNode::Kind::kScalar || field.type == FieldType::kIntList) {
      value = absl::InvalidArgumentError(
          absl::StrCat("expected ", TypePhrase(field.type), ", got ", KindName(node.kind)));
    } else if (node.quoted && field.type != FieldType::kString) {
      Add(node.position, field.path,
          absl::StrCat("expected ", TypePhrase(field.type), ", got text in quotes"),
          "remove the quotes");
      return;
    } else {
      value = ParseScalar(field, node.text);
    }
    if (value.ok()) value = Store(field, *std::move(value));
    if (value.ok() || failed_.contains(std::string(field.path))) return;
    Add(node.position, field.path, std::string(value.status().message()), "");
  }

  absl::StatusOr<FieldValue> Store(const Field& field, FieldValue value) {
    GG_RETURN_IF_ERROR(SetField(field, value, &file_.spec));
    return value;
  }

  absl::StatusOr<FieldValue> ReadIntList(const Field& field, const YamlNode& node) {
    std::vector<int64_t> list;
    for (const YamlNode& item : node.items) {
      if (item.kind != YamlNode::Kind::kScalar || item.quoted) {
        Add(item.position, field.path,
            absl::StrCat("expected a whole number in the list, got ",
                         item.quoted ? "text in quotes" : KindName(item.kind)),
            "");
        continue;
      }
      auto one = ParseIntList(item.text);
      if (!one.ok() || one->size() != 1) {
        Add(item.position, field.path,
            absl::StrCat("expected a whole number in the list, got \"", item.text, "\""), "");
        continue;
      }
      list.push_back(one->front());
    }
    return FieldValue(std::move(list));
  }

  template <typename Value>
  static absl::StatusOr<Value> ReadValue(const YamlNode& node) {
    if constexpr (std::is_same_v<Value, double>) {
      if (node.quoted) return absl::InvalidArgumentError("expected a number, got text in quotes");
      return ParseFloat(node.text);
    } else {
      return node.text;
    }
  }

  template <typename Value>
  absl::StatusOr<FieldValue> ReadMap(const Field& field, const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kMap) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected key: value pairs, got ", KindName(node.kind)));
    }
    std::map<std::string, Value> map;
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const YamlNode& key = node.items[i];
      const YamlNode& value = node.items[i + 1];
      if (key.kind != YamlNode::Kind::kScalar || value.kind != YamlNode::Kind::kScalar) {
        Add(key.position, field.path, "expected a single value for each key", "");
        continue;
      }
      const absl::StatusOr<Value> read = ReadValue<Value>(value);
      if (!read.ok()) {
        Add(value.position, field.path,
            absl::StrCat("key \"", key.text, "\": ", read.status().message()), "");
      } else if (!map.emplace(key.text, *read).second) {
        Add(key.position, field.path, absl::StrCat("key \"", key.text, "\" given twice"),
            "remove one of them");
      }
    }
    return FieldValue(std::move(map));
  }

  void CheckConstant(const YamlNode& root, const std::string& name, const std::string& wanted) {
    for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
      if (root.items[i].kind != YamlNode::Kind::kScalar || root.items[i].text != name) continue;
      const YamlNode& value = root.items[i + 1];
      if (value.kind == YamlNode::Kind::kScalar && value.text == wanted) return;
      const std::string got = value.kind == YamlNode::Kind::kScalar
                                  ? absl::StrCat("\"", value.text, "\"")
                                  : std::string(KindName(value.kind));
      Add(value.position, name, absl::StrCat("must be ", wanted, ", got ", got),
          absl::StrCat("write ", name, ": ", wanted));
      return;
    }
    Add(root.position, name, "is required", absl::StrCat("write ", name, ": ", wanted));
  }

  // ---- overrides and meaning ----

  void Apply(const Override& override_) {
    std::string path;
    const absl::Status status = ApplyOverride(override_.assignment, &file_.spec, &path);
    if (!path.empty()) overridden_[path] = override_.option;
    if (status.ok()) {
      // What the file had wrong in that field no longer matters.
      std::erase_if(file_.errors,
                    [&](const Problem& p) { return p.path == path && p.position.line > 0; });
      failed_.erase(path);
      for (const PathField& field : kPathFields) {
        if (path != field.path) continue;
        std::string& value = field.of(file_.spec);
        if (!value.empty()) value = Absolute(value, input_.current_folder);
      }
      return;
    }
    if (!path.empty()) failed_.insert(path);
    Problem problem;
    problem.source = override_.option;
    problem.message = std::string(status.message());
    problem.suggestion = HintFor(path);
    file_.errors.push_back(std::move(problem));
  }

  void CheckMeaning() {
    for (FieldError& error : Validate(file_.spec)) {
      if (!failed_.contains(error.path))
        file_.errors.push_back(Place(std::move(error), Severity::kError));
    }
    for (FieldError& warning : Warnings(file_.spec)) {
      file_.warnings.push_back(Place(std::move(warning), Severity::kWarning));
    }
  }

  // At the option that set the field, else at its value, else at the innermost section that is
  // there.
  Problem Place(FieldError error, Severity severity) const {
    Problem problem;
    problem.severity = severity;
    problem.message = std::move(error.message);
    problem.suggestion = std::move(error.suggestion);
    problem.path = error.path;
    if (const auto it = overridden_.find(error.path); it != overridden_.end()) {
      problem.source = it->second;
      return problem;
    }
    problem.source = input_.name;
    problem.position = {1, 1};
    for (std::string path = error.path;;) {
      if (const auto it = places_.find(path); it != places_.end()) {
        problem.position = it->second;
        break;
      }
      const size_t dot = path.rfind('.');
      if (dot == std::string::npos) break;
      path.resize(dot);
    }
    return problem;
  }

  void Add(Position position, absl::string_view path, std::string message, std::string suggestion) {
    Problem problem;
    problem.position = position;
    problem.path = std::string(path);
    problem.message = std::move(message);
    problem.suggestion = std::move(suggestion);
    AddError(std::move(problem));
  }
  void AddError(Problem problem) {
    problem.source = input_.name;
    failed_.insert(problem.path);
    file_.errors.push_back(std::move(problem));
  }

  // For a problem that nothing more particular can be said about; "" when `path` is no field.
  static std::string HintFor(const std::string& path) {
    const Field* field = FindField(path);
    if (field == nullptr) return "";
    const std::string text = ValueToText(DefaultValue(*field));
    return absl::StrCat(
        text.empty() || text == "{}" ? "" : absl::StrCat("the default is ", text, "; "),
        "`ggctl explain ", path, "` says more");
  }

  JobFile Finish() {
    for (Problem& problem : file_.errors) {
      if (problem.suggestion.empty()) problem.suggestion = HintFor(problem.path);
    }
    std::stable_sort(
        file_.errors.begin(), file_.errors.end(), [](const Problem& a, const Problem& b) {
          const auto key = [](const Problem& p) {
            return std::make_tuple(p.position.line == 0, p.position.line, p.position.column);
          };
          return key(a) < key(b);
        });
    return std::move(file_);
  }

  const JobFileInput& input_;
  JobFile file_;
  std::map<std::string, Position> places_;  // of each key or value that the file has, by path
  std::map<std::string, std::string> overridden_;  // path to the option that set it
  std::set<std::string> failed_;                   // paths that already have an error
};

}  // namespace

JobFile ParseJobFile(const JobFileInput& input) {
  return Reader(input).Run();
}

}  // namespace gg
