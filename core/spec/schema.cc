// SPDX-License-Identifier: Apache-2.0
#include "core/spec/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/spec/schema_table.h"
#include "core/spec/suggest.h"
#include "core/status.h"

namespace gg {
namespace {

std::string NumberText(double v) {
  // "1000000" reads better than the shorter "1e+06".
  if (std::floor(v) == v && std::fabs(v) < 1e15) return absl::StrCat(static_cast<int64_t>(v));
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, v);
  return std::string(buffer, result.ptr);
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kShown = 60;
  return absl::StrCat("\"", text.substr(0, kShown), text.size() > kShown ? "..." : "", "\"");
}

bool IsHex(absl::string_view text) {
  return text.find_first_of("xX") != absl::string_view::npos;
}

// Whole numbers only, in plain decimal; "1_000" and "1e3" are refused with a hint rather than read
// differently.
template <typename T>
absl::StatusOr<T> ParseInteger(absl::string_view text, absl::string_view wanted) {
  absl::string_view digits = absl::StripAsciiWhitespace(text);
  absl::ConsumePrefix(&digits, "+");
  // YAML 1.1 reads "010" as 8, YAML 1.2 as 10: nobody can tell what was meant.
  const absl::string_view magnitude = absl::StripPrefix(digits, "-");
  if (magnitude.size() > 1 && magnitude[0] == '0' &&
      std::all_of(magnitude.begin(), magnitude.end(),
                  [](unsigned char c) { return absl::ascii_isdigit(c); })) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", wanted, ", got ", Quoted(text),
                                                   "; write it without leading zeros"));
  }
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), absl::StartsWith(digits, "-") ? " is too small" : " is too large"));
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    double d = 0;
    const bool whole = absl::SimpleAtod(digits, &d) && std::isfinite(d) && std::floor(d) == d &&
                       std::fabs(d) < 1e15 && !IsHex(digits) && (std::is_signed_v<T> || d >= 0);
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", wanted, ", got ", Quoted(text),
                     whole ? absl::StrCat("; write ", static_cast<int64_t>(d)) : ""));
  }
  return value;
}

absl::StatusOr<bool> ParseBool(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  if (lower == "true") return true;
  if (lower == "false") return false;
  const bool yes = lower == "yes" || lower == "on" || lower == "1";
  const bool no = lower == "no" || lower == "off" || lower == "0";
  return absl::InvalidArgumentError(absl::StrCat("expected true or false, got ", Quoted(text),
                                                 yes  ? "; write true"
                                                 : no ? "; write false"
                                                      : ""));
}

// The nearest path: its last name and what stands before it are each near enough to be slips. Of the
// whole path a third would be enough to make another field of a short name.
std::string NearestPath(absl::string_view path) {
  const auto split = [](absl::string_view whole) {
    const size_t dot = whole.rfind('.');
    return dot == absl::string_view::npos
               ? std::pair<absl::string_view, absl::string_view>("", whole)
               : std::pair(whole.substr(0, dot), whole.substr(dot + 1));
  };
  const auto slip = [](absl::string_view word, absl::string_view meant) {
    return word == meant || !Nearest(word, {std::string(meant)}).empty();
  };
  const auto [section, name] = split(path);
  std::vector<std::string> able;
  for (const Field& field : Fields()) {
    const auto [known_section, known_name] = split(field.path);
    if (slip(section, known_section) && slip(name, known_name)) able.emplace_back(field.path);
  }
  return Nearest(path, able);
}

absl::Status UnknownPath(absl::string_view path) {
  if (const Section* section = FindSection(path); section != nullptr) {
    return absl::NotFoundError(absl::StrCat("\"", path, "\" holds other fields (",
                                            absl::StrJoin(MemberNames(path), ", "),
                                            "); set one of those"));
  }
  std::string near = NearestPath(path);
  if (near.empty()) near = NearestPath(absl::StrCat("spec.", path));
  return absl::NotFoundError(absl::StrCat("unknown field \"", path, "\"",
                                          near.empty()
                                              ? "; `ggctl explain` lists the fields"
                                              : absl::StrCat("; did you mean \"", near, "\"?")));
}

}  // namespace

absl::string_view FieldTypeName(FieldType type) {
  switch (type) {
    case FieldType::kString:
      return "string";
    case FieldType::kInt:
      return "int";
    case FieldType::kUint:
      return "uint";
    case FieldType::kFloat:
      return "float";
    case FieldType::kBool:
      return "bool";
    case FieldType::kIntList:
      return "list of int";
    case FieldType::kStringMap:
      return "map of string";
    case FieldType::kFloatMap:
      return "map of float";
  }
  return "unknown";
}

bool Range::Contains(double v) const {
  return (min_open ? v > min : v >= min) && (max_open ? v < max : v <= max);
}

bool Range::ContainsWhole(int64_t v) const {
  // Bounds of whole numbers are whole, and below 2^63 in size.
  constexpr double kEnd = 9.2e18;
  if (min > -kEnd) {
    const int64_t low = static_cast<int64_t>(min);
    if (min_open ? v <= low : v < low) return false;
  }
  if (max < kEnd) {
    const int64_t high = static_cast<int64_t>(max);
    if (max_open ? v >= high : v > high) return false;
  }
  return true;
}

std::string Range::ToString() const {
  std::string out;
  if (std::isfinite(min)) absl::StrAppend(&out, NumberText(min), min_open ? " < " : " <= ");
  if (std::isfinite(min) || std::isfinite(max)) absl::StrAppend(&out, "value");
  if (std::isfinite(max)) absl::StrAppend(&out, max_open ? " < " : " <= ", NumberText(max));
  return out;
}

absl::string_view Field::leaf() const {
  return path.substr(path.rfind('.') + 1);
}

absl::Span<const Field> Fields() {
  return internal::FieldTable();
}
absl::Span<const Section> Sections() {
  return internal::SectionTable();
}

const Field* FindField(absl::string_view path) {
  for (const Field& field : Fields()) {
    if (field.path == path) return &field;
  }
  return nullptr;
}

const Section* FindSection(absl::string_view path) {
  for (const Section& section : Sections()) {
    if (section.path == path) return &section;
  }
  return nullptr;
}

std::vector<std::string> MemberNames(absl::string_view section_path) {
  const std::string prefix = section_path.empty() ? "" : absl::StrCat(section_path, ".");
  std::vector<std::string> names;
  const auto add = [&](absl::string_view path) {
    if (!absl::ConsumePrefix(&path, prefix)) return;
    if (path.find('.') == absl::string_view::npos) names.emplace_back(path);
  };
  if (section_path.empty()) names = {"apiVersion", "kind"};
  for (const Section& section : Sections()) add(section.path);
  for (const Field& field : Fields()) add(field.path);
  return names;
}

FieldValue GetField(const Field& field, const JobSpec& spec) {
  // The accessor serves reading and writing; nothing is written through it here.
  return std::visit([](auto* member) -> FieldValue { return *member; },
                    field.ref(const_cast<JobSpec&>(spec)));
}

FieldValue DefaultValue(const Field& field) {
  return GetField(field, JobSpec());
}

std::string ValueToText(const FieldValue& value) {
  struct Visitor {
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(int64_t v) const { return absl::StrCat(v); }
    std::string operator()(uint64_t v) const { return absl::StrCat(v); }
    std::string operator()(double v) const { return NumberText(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::vector<int64_t>& v) const {
      return absl::StrCat("[", absl::StrJoin(v, ", "), "]");
    }
    std::string operator()(const std::map<std::string, std::string>& v) const {
      return absl::StrCat("{", absl::StrJoin(v, ", ", absl::PairFormatter(": ")), "}");
    }
    std::string operator()(const std::map<std::string, double>& v) const {
      return absl::StrCat(
          "{",
          absl::StrJoin(v, ", ",
                        [](std::string* out, const std::pair<const std::string, double>& entry) {
                          absl::StrAppend(out, entry.first, ": ", NumberText(entry.second));
                        }),
          "}");
    }
  };
  return std::visit(Visitor(), value);
}

absl::StatusOr<FieldValue> ParseScalar(const Field& field, absl::string_view text) {
  switch (field.type) {
    case FieldType::kString:
      return FieldValue(std::string(text));
    case FieldType::kInt: {
      GG_ASSIGN_OR_RETURN(const int64_t v, ParseInteger<int64_t>(text, "a whole number"));
      return FieldValue(v);
    }
    case FieldType::kUint: {
      GG_ASSIGN_OR_RETURN(const uint64_t v,
                          ParseInteger<uint64_t>(text, "a whole number of 0 or more"));
      return FieldValue(v);
    }
    case FieldType::kFloat: {
      GG_ASSIGN_OR_RETURN(const double v, ParseFloat(text));
      return FieldValue(v);
    }
    case FieldType::kBool: {
      GG_ASSIGN_OR_RETURN(const bool v, ParseBool(text));
      return FieldValue(v);
    }
    case FieldType::kIntList: {
      GG_ASSIGN_OR_RETURN(std::vector<int64_t> v, ParseIntList(text));
      return FieldValue(std::move(v));
    }
    case FieldType::kStringMap:
    case FieldType::kFloatMap:
      return absl::InvalidArgumentError("expected key: value pairs, got a single value");
  }
  return absl::InternalError("field of unknown type");
}

absl::StatusOr<double> ParseFloat(absl::string_view text) {
  double value = 0;
  // SimpleAtod also takes "inf" and "nan", which no field means, and hexadecimal forms.
  if (IsHex(text) || !absl::SimpleAtod(absl::StripAsciiWhitespace(text), &value) ||
      !std::isfinite(value)) {
    return absl::InvalidArgumentError(absl::StrCat("expected a number, got ", Quoted(text)));
  }
  return value;
}

absl::StatusOr<std::vector<int64_t>> ParseIntList(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "[") && !absl::ConsumeSuffix(&text, "]")) {
    return absl::InvalidArgumentError("list opened with '[' is not closed with ']'");
  }
  std::vector<int64_t> values;
  if (absl::StripAsciiWhitespace(text).empty()) return values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    GG_ASSIGN_OR_RETURN(const int64_t v, ParseInteger<int64_t>(part, "a list of whole numbers"));
    values.push_back(v);
  }
  return values;
}

absl::Status SetField(const Field& field, FieldValue value, JobSpec* spec) {
  return std::visit(
      [&](auto* member) -> absl::Status {
        using T = std::remove_pointer_t<decltype(member)>;
        T* given = std::get_if<T>(&value);
        if (given == nullptr) {
          return absl::InternalError(
              absl::StrCat(field.path, ": value is not a ", FieldTypeName(field.type)));
        }
        *member = std::move(*given);
        return absl::OkStatus();
      },
      field.ref(*spec));
}

namespace {

bool IsMap(const Field& field) {
  return field.type == FieldType::kStringMap || field.type == FieldType::kFloatMap;
}

// The map of which `path`, with or without "spec.", names a key.
const Field* FindMapOf(absl::string_view path, absl::string_view* key) {
  for (const Field& field : Fields()) {
    if (!IsMap(field)) continue;
    for (const absl::string_view name : {field.path, absl::StripPrefix(field.path, "spec.")}) {
      *key = path;
      if (absl::ConsumePrefix(key, name) && absl::ConsumePrefix(key, ".") && !key->empty()) {
        return &field;
      }
    }
  }
  return nullptr;
}

absl::Status SetKey(const Field& map, absl::string_view key, absl::string_view text,
                    JobSpec* spec) {
  const FieldRef ref = map.ref(*spec);
  if (map.type == FieldType::kStringMap) {
    (*std::get<std::map<std::string, std::string>*>(ref))[std::string(key)] = std::string(text);
    return absl::OkStatus();
  }
  const absl::StatusOr<double> value = ParseFloat(text);
  GG_RETURN_IF_ERROR(Annotate(value.status(), absl::StrCat(map.path, ".", key)));
  (*std::get<std::map<std::string, double>*>(ref))[std::string(key)] = *value;
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyOverride(absl::string_view assignment, JobSpec* spec, std::string* full_path) {
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat("expected path=value, got ", Quoted(assignment),
                                                   ", for example train.epochs=3"));
  }
  const absl::string_view path = absl::StripAsciiWhitespace(assignment.substr(0, equals));
  const absl::string_view text = assignment.substr(equals + 1);

  absl::string_view key;
  if (const Field* map = FindMapOf(path, &key); map != nullptr) {
    if (full_path != nullptr) *full_path = absl::StrCat(map->path, ".", key);
    return SetKey(*map, key, text, spec);
  }
  const Field* field = FindField(path);
  if (field == nullptr) field = FindField(absl::StrCat("spec.", path));
  if (field == nullptr) return UnknownPath(path);
  if (full_path != nullptr) *full_path = std::string(field->path);
  if (IsMap(*field)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field->path, ": set one key at a time: ", field->path, ".KEY=VALUE"));
  }
  auto value = ParseScalar(*field, text);
  GG_RETURN_IF_ERROR(Annotate(value.status(), field->path));
  return SetField(*field, *std::move(value), spec);
}

}  // namespace gg
