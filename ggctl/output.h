// SPDX-License-Identifier: Apache-2.0
//
// The option -o/--output: the same forms mean the same in every verb.
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_GGCTL_OUTPUT_H_
#define GOSSIPGRAD_GGCTL_OUTPUT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ggctl/session.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace gg {

// What a verb can write besides its text for people.
struct OutputForm {
  const char* name;     // "json"
  const char* meaning;  // for --help
};

// Of every verb that has documents for programs.
inline constexpr OutputForm kJsonForm = {"json", "one JSON document"};
inline constexpr OutputForm kYamlForm = {"yaml", "the same as YAML"};

// Declares -o/--output; `*output` stays "" without it. A form that is not in the list is an error of
// the command line that names those that are.
void AddOutput(CLI::App& app, std::string* output, const std::vector<OutputForm>& forms);

// Whether `output` is json or yaml.
bool IsDocument(const std::string& output);

// Writes `document` to standard output in the form `output`, json or yaml. Text in it that is no
// UTF-8 is replaced.
void WriteDocument(Session& session, const nlohmann::ordered_json& document,
                   const std::string& output);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_OUTPUT_H_
