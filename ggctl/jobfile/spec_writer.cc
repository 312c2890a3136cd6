// SPDX-License-Identifier: Apache-2.0
#include "ggctl/jobfile/spec_writer.h"

#include <algorithm>
#include <array>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/spec/schema.h"
#include "ggctl/jobfile/job_file.h"

namespace gg {
namespace {

using Json = nlohmann::ordered_json;

bool IsPlainSafe(const std::string& text) {
  constexpr std::array<absl::string_view, 10> kWords = {"true", "false", "null", "yes", "no",
                                                        "on",   "off",   "y",    "n",   "nan"};
  const std::string lower = absl::AsciiStrToLower(text);
  if (text.empty() || std::find(kWords.begin(), kWords.end(), lower) != kWords.end()) return false;
  if (!absl::ascii_isalpha(static_cast<unsigned char>(text[0])) && text[0] != '/') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
           c == '/';
  });
}

std::string Scalar(const Json& value) {
  if (value.is_string() && IsPlainSafe(value.get<std::string>())) return value.get<std::string>();
  // A JSON text is a YAML text.
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsInline(const Json& value) {
  if (value.empty() || value.is_primitive()) return true;
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_number(); });
}

std::string Inline(const Json& value) {
  if (value.is_object() && value.empty()) return "{}";
  if (!value.is_array()) return Scalar(value);
  std::string out = "[";
  for (const Json& item : value) absl::StrAppend(&out, out.size() > 1 ? ", " : "", Scalar(item));
  return out + "]";
}

void Append(const Json& value, int indent, bool first_is_indented, std::string* out) {
  const auto margin = [&]() {
    if (!first_is_indented) out->append(static_cast<size_t>(indent), ' ');
    first_is_indented = false;
  };
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      margin();
      absl::StrAppend(out, Scalar(Json(key)), ":");
      if (IsInline(member)) {
        absl::StrAppend(out, " ", Inline(member), "\n");
      } else {
        absl::StrAppend(out, "\n");
        Append(member, indent + 2, false, out);
      }
    }
    return;
  }
  for (const Json& item : value) {
    margin();
    absl::StrAppend(out, "- ");
    if (IsInline(item)) {
      absl::StrAppend(out, Inline(item), "\n");
    } else {
      Append(item, indent + 2, true, out);
    }
  }
}

}  // namespace

Json ValueToJson(const FieldValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json SpecToJson(const JobSpec& spec) {
  Json root = Json::object();
  for (const Field& field : Fields()) {
    Json* place = &root;
    for (const absl::string_view part : absl::StrSplit(field.path, '.'))
      place = &(*place)[std::string(part)];
    *place = ValueToJson(GetField(field, spec));
  }
  return root;
}

Json JobFileJson(const JobSpec& spec) {
  Json root = {{"apiVersion", kApiVersion}, {"kind", kJobKind}};
  root.update(SpecToJson(spec));
  return root;
}

std::string JsonToYaml(const Json& json) {
  if (IsInline(json)) return Inline(json) + "\n";
  std::string out;
  Append(json, 0, false, &out);
  return out;
}

}  // namespace gg
