// SPDX-License-Identifier: Apache-2.0
#include "ggctl/output.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "ggctl/jobfile/spec_writer.h"

namespace gg {

void AddOutput(CLI::App& app, std::string* output, const std::vector<OutputForm>& forms) {
  std::vector<std::string> names;
  std::string help;
  for (const OutputForm& form : forms) {
    names.emplace_back(form.name);
    absl::StrAppend(&help, help.empty() ? "" : "; ", form.name, ": ", form.meaning);
  }
  app.add_option("-o,--output", *output, help)->check(CLI::IsMember(names));
}

bool IsDocument(const std::string& output) {
  return output == "json" || output == "yaml";
}

void WriteDocument(Session& session, const nlohmann::ordered_json& document,
                   const std::string& output) {
  const std::string text =
      document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // Through text, so that YAML holds no bytes either that JSON would not.
  *session.out << (output == "yaml" ? JsonToYaml(nlohmann::ordered_json::parse(text)) : text + "\n")
               << std::flush;
}

}  // namespace gg
