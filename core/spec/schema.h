// SPDX-License-Identifier: Apache-2.0
//
// The one table of everything a job can say: path, type, unit, default, range and help text of each
// field of JobSpec. The job file reader, `--set`, `ggctl explain`, docs/job-file.md and the
// validation all go by it (docs/adr/0007-one-field-table.md). To add a field: a member in
// job_spec.h and one line in schema_table.cc. Paths are written as in the job file:
// "metadata.name", "spec.exchange.schedule". Thread-safety: pure functions over immutable data.
#ifndef GOSSIPGRAD_CORE_SPEC_SCHEMA_H_
#define GOSSIPGRAD_CORE_SPEC_SCHEMA_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/spec/job_spec.h"

namespace gg {

enum class FieldType { kString, kInt, kUint, kFloat, kBool, kIntList, kStringMap, kFloatMap };

// "string", "int", "uint", "float", "bool", "list of int", "map of string", "map of float".
absl::string_view FieldTypeName(FieldType type);

// The alternatives are in the order of FieldType.
using FieldValue = std::variant<std::string, int64_t, uint64_t, double, bool, std::vector<int64_t>,
                                std::map<std::string, std::string>, std::map<std::string, double>>;
using FieldRef =
    std::variant<std::string*, int64_t*, uint64_t*, double*, bool*, std::vector<int64_t>*,
                 std::map<std::string, std::string>*, std::map<std::string, double>*>;

// Which numbers a field takes; for a list or map, each of its values. Open ends exclude the bound
// itself.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;
  bool max_open = false;
  bool Contains(double v) const;  // false for NaN
  // The same for whole numbers, of which a double does not hold every one.
  bool ContainsWhole(int64_t v) const;
  std::string ToString() const;  // "0 <= value < 1", "" when unbounded
};

struct Field {
  absl::string_view path;
  FieldType type;
  absl::string_view unit;                  // "samples", "seconds", ...; "" = none
  Range range;                             // numbers only
  std::vector<absl::string_view> choices;  // strings only; empty = any text
  absl::string_view help;                  // one or more sentences
  FieldRef (*ref)(JobSpec& spec);          // the member itself

  absl::string_view leaf() const;  // last part of the path
};

// A mapping of the job file that holds fields or other mappings: "metadata", "spec", "spec.model",
// ...
struct Section {
  absl::string_view path;
  absl::string_view help;
};

// In the order of the job file; sections before their members.
absl::Span<const Field> Fields();
absl::Span<const Section> Sections();

// nullptr when there is none.
const Field* FindField(absl::string_view path);
const Section* FindSection(absl::string_view path);

// Names of the direct members of a section, in the order of the table; "" names the top level.
std::vector<std::string> MemberNames(absl::string_view section_path);

FieldValue GetField(const Field& field, const JobSpec& spec);
// The value that a default-constructed JobSpec has.
FieldValue DefaultValue(const Field& field);

// As text: strings as they are, numbers in the shortest form that reads back equal, lists "[1, 2]",
// maps "{a: b}".
std::string ValueToText(const FieldValue& value);

// Reads one scalar as the field's type (of a list field: as an element, see ParseIntList) and
// checks nothing else. kInvalidArgument with a message that completes "spec.x: ".
absl::StatusOr<FieldValue> ParseScalar(const Field& field, absl::string_view text);
// A finite number; one value of a map of float.
absl::StatusOr<double> ParseFloat(absl::string_view text);
// "[1, 2]", "1,2" or "1".
absl::StatusOr<std::vector<int64_t>> ParseIntList(absl::string_view text);

// Stores a value whose alternative matches the field's type; anything else is a mistake of the
// caller (kInternal).
absl::Status SetField(const Field& field, FieldValue value, JobSpec* spec);

// "path=value" of the command line: path with or without "spec.", e.g. "train.epochs=3" or
// "metadata.labels.team=x" (one key of a map). On success `*full_path` (may be null) is the path as the table has it.
// kInvalidArgument (bad value or form) and kNotFound (unknown path, with a suggestion) otherwise.
// Ranges and cross-field rules are Validate()'s.
absl::Status ApplyOverride(absl::string_view assignment, JobSpec* spec, std::string* full_path);

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SPEC_SCHEMA_H_
