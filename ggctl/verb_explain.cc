// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/spec/exchange_use.h"
#include "core/spec/schema.h"
#include "core/spec/suggest.h"
#include "ggctl/format.h"
#include "ggctl/job_json.h"
#include "ggctl/jobfile/job_file.h"
#include "ggctl/jobfile/spec_writer.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"

namespace gg {
namespace {

constexpr int kTextWidth = 78;

std::string DefaultText(const Field& field) {
  const std::string text = ValueToText(DefaultValue(field));
  if (text.empty() || text == "{}") return "";
  return text;
}

// The help text, and which methods read a setting of the exchange.
std::string Meaning(const Field& field) {
  const std::string use = UseSentence(field.path);
  return use.empty() ? std::string(field.help) : absl::StrCat(field.help, " ", use);
}

bool IsMemberOf(absl::string_view path, absl::string_view section) {
  if (section.empty()) return !absl::StrContains(path, ".");
  return absl::ConsumePrefix(&path, section) && absl::ConsumePrefix(&path, ".") &&
         !absl::StrContains(path, ".");
}

std::string Facts(const Field& field, absl::string_view separator) {
  std::vector<std::string> facts;
  if (!field.unit.empty()) facts.push_back(absl::StrCat("unit: ", field.unit));
  if (!field.choices.empty())
    facts.push_back(absl::StrCat("one of: ", absl::StrJoin(field.choices, ", ")));
  if (const std::string range = field.range.ToString(); !range.empty())
    facts.push_back(absl::StrCat("range: ", range));
  if (const std::string text = DefaultText(field); !text.empty())
    facts.push_back(absl::StrCat("default: ", text));
  if (field.path == "metadata.name") facts.push_back("required");
  return absl::StrJoin(facts, separator);
}

std::string Head() {
  return absl::StrCat("KIND:     ", kJobKind, "\nVERSION:  ", kApiVersion, "\n\n");
}

std::string ExplainField(const Field& field) {
  std::string out = absl::StrCat(Head(), "FIELD:    ", field.path, " <", FieldTypeName(field.type),
                                 ">\n\nDESCRIPTION:\n", Wrapped(Meaning(field), 4, kTextWidth));
  if (const std::string facts = Facts(field, "\n    "); !facts.empty())
    absl::StrAppend(&out, "\n    ", facts, "\n");
  return out;
}

std::string ExplainSection(absl::string_view path, absl::string_view help, bool recursive) {
  std::string out = Head();
  if (!path.empty()) absl::StrAppend(&out, "FIELD:    ", path, " <mapping>\n\n");
  absl::StrAppend(&out, "DESCRIPTION:\n", Wrapped(help, 4, kTextWidth), "\nFIELDS:\n");
  const auto is_below = [&](absl::string_view p) {
    return recursive ? path.empty() || absl::StartsWith(p, absl::StrCat(path, "."))
                     : IsMemberOf(p, path);
  };
  const auto shown = [&](absl::string_view p) {
    return recursive ? p : p.substr(p.rfind('.') + 1);
  };
  if (path.empty()) {
    absl::StrAppend(&out, "    apiVersion  <string>\n",
                    Wrapped(absl::StrCat("Always ", kApiVersion, "."), 8, kTextWidth));
    absl::StrAppend(&out, "    kind  <string>\n",
                    Wrapped(absl::StrCat("Always ", kJobKind, "."), 8, kTextWidth));
  }
  for (const Section& section : Sections()) {
    if (recursive || !is_below(section.path)) continue;
    absl::StrAppend(&out, "    ", shown(section.path), "  <mapping>\n",
                    Wrapped(section.help, 8, kTextWidth));
  }
  for (const Field& field : Fields()) {
    if (!is_below(field.path)) continue;
    absl::StrAppend(&out, "    ", shown(field.path), "  <", FieldTypeName(field.type), ">\n",
                    Wrapped(Meaning(field), 8, kTextWidth));
    if (const std::string facts = Facts(field, "; "); !facts.empty())
      absl::StrAppend(&out, Wrapped(facts, 8, kTextWidth));
  }
  return out;
}

// docs/job-file.md.
std::string Markdown() {
  std::string out = absl::StrCat(
      "<!-- Made by `ggctl explain --all -o markdown`; change core/spec/schema_table.cc or "
      "exchange_use.cc instead. "
      "-->\n# The job file\n\n"
      "A YAML file of one document. `ggctl validate -f FILE` shows all its problems at once. Any "
      "field can be set on the "
      "command line: `--set train.epochs=3`.\n\n```yaml\napiVersion: ",
      kApiVersion, "\nkind: ", kJobKind,
      "\nmetadata:\n  name: my-job\nspec: {}\n```\n\n"
      "A relative `spec.data.path` or `spec.exchange.graph_file` counts from the folder of the job "
      "file; one given by `--set` from the current folder. "
      "Anchors, aliases and tags of YAML are not supported.\n");
  for (const Section& section : Sections()) {
    absl::StrAppend(&out, "\n## `", section.path, "`\n\n", section.help, "\n");
    bool head = false;
    for (const Field& field : Fields()) {
      if (!IsMemberOf(field.path, section.path)) continue;
      if (!head)
        absl::StrAppend(&out,
                        "\n| field | type | unit | values | default | meaning |\n| --- | --- | --- "
                        "| --- | --- | --- |\n");
      head = true;
      const std::string text = DefaultText(field);
      std::string values = field.range.ToString();
      if (!field.choices.empty()) {
        values = absl::StrJoin(field.choices, ", ", [](std::string* o, absl::string_view c) {
          absl::StrAppend(o, "`", c, "`");
        });
      }
      absl::StrAppend(&out, "| `", field.leaf(), "` | ", FieldTypeName(field.type), " | ",
                      field.unit, " | ", values, " | ",
                      text.empty() ? "" : absl::StrCat("`", text, "`"), " | ", Meaning(field),
                      " |\n");
    }
  }
  return out;
}

// The path as the table has it: without "job." in front, with "spec.".
std::string FullPath(absl::string_view path) {
  absl::ConsumePrefix(&path, "job");
  absl::ConsumePrefix(&path, ".");
  const std::string with_spec = absl::StrCat("spec.", path);
  return FindField(with_spec) != nullptr || FindSection(with_spec) != nullptr ? with_spec
                                                                              : std::string(path);
}

// "" when there is no such field or section.
std::string ExplainPath(const std::string& path, bool recursive) {
  const std::string full = FullPath(path);
  if (full.empty()) return ExplainSection("", "A training job.", recursive);
  if (const Field* field = FindField(full); field != nullptr) return ExplainField(*field);
  if (const Section* section = FindSection(full); section != nullptr)
    return ExplainSection(section->path, section->help, recursive);
  return "";
}

nlohmann::ordered_json FieldsToJson(const std::string& path) {
  using Json = nlohmann::ordered_json;
  const std::string full = FullPath(path);
  const auto bound = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
  std::vector<Json> items;
  for (const Field& field : Fields()) {
    if (!full.empty() && field.path != full &&
        !absl::StartsWith(field.path, absl::StrCat(full, ".")))
      continue;
    Json values = Json::array();
    for (const absl::string_view choice : field.choices) values.push_back(std::string(choice));
    items.push_back({{"path", std::string(field.path)},
                     {"type", std::string(FieldTypeName(field.type))},
                     {"unit", field.unit.empty() ? Json(nullptr) : Json(std::string(field.unit))},
                     {"values", field.choices.empty() ? Json(nullptr) : std::move(values)},
                     {"minimum", bound(field.range.min)},
                     {"exclusive_minimum", field.range.min_open},
                     {"maximum", bound(field.range.max)},
                     {"exclusive_maximum", field.range.max_open},
                     {"default", ValueToJson(DefaultValue(field))},
                     {"description", Meaning(field)}});
  }
  return ListToJson("FieldList", std::move(items));
}

std::string NearestPath(const std::string& path) {
  std::vector<std::string> paths;
  for (const Section& section : Sections()) paths.emplace_back(section.path);
  for (const Field& field : Fields()) paths.emplace_back(field.path);
  const std::string near = Nearest(path, paths);
  return near.empty() ? Nearest(absl::StrCat("spec.", path), paths) : near;
}

}  // namespace

Action AddExplain(CLI::App& app) {
  struct Options {
    std::string path;
    bool all = false;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  app.add_option("path", options->path, "Field or section, for example spec.exchange");
  app.add_flag("--all,--recursive", options->all, "All fields below, not only the next level");
  AddOutput(app, &options->output,
            {{"text", "for people, the default"},
             {"markdown", "the whole reference as a document"},
             {"json", "all fields at and below PATH, as one JSON document"},
             kYamlForm});
  return [options](Session& session) {
    if (options->output == "markdown") {
      if (!options->path.empty())
        return session.Fail(ExitCode::kUsage,
                            "-o markdown writes the whole reference; leave out PATH");
      *session.out << Markdown() << std::flush;
      return ExitCode::kOk;
    }
    if (IsDocument(options->output)) {
      const nlohmann::ordered_json list = FieldsToJson(options->path);
      if (!list["items"].empty()) {
        WriteDocument(session, list, options->output);
        return ExitCode::kOk;
      }
    }
    const std::string text = ExplainPath(options->path, options->all);
    if (text.empty()) {
      const std::string near = NearestPath(options->path);
      return session.Fail(
          ExitCode::kUsage,
          absl::StrCat("no field \"", options->path, "\"",
                       near.empty() ? "; `ggctl explain --all` lists them"
                                    : absl::StrCat("; did you mean \"", near, "\"?")));
    }
    *session.out << text << std::flush;
    return ExitCode::kOk;
  };
}

}  // namespace gg
