// SPDX-License-Identifier: Apache-2.0
//
// A JobSpec back as a document in the form of the job file, and any JSON document as YAML.
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_GGCTL_JOBFILE_SPEC_WRITER_H_
#define GOSSIPGRAD_GGCTL_JOBFILE_SPEC_WRITER_H_

#include <nlohmann/json.hpp>
#include <string>

#include "core/spec/job_spec.h"
#include "core/spec/schema.h"

namespace gg {

// {"metadata": {...}, "spec": {...}} with every field, defaults too, in the order of the table.
nlohmann::ordered_json SpecToJson(const JobSpec& spec);

// The same with apiVersion and kind: a job file that reads back as an equal spec.
nlohmann::ordered_json JobFileJson(const JobSpec& spec);

// One value as JSON.
nlohmann::ordered_json ValueToJson(const FieldValue& value);

// Block style; text that YAML could take for something else is put in quotes. Ends with a newline.
std::string JsonToYaml(const nlohmann::ordered_json& json);

}  // namespace gg

#endif  // GOSSIPGRAD_GGCTL_JOBFILE_SPEC_WRITER_H_
