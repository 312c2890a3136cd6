// SPDX-License-Identifier: Apache-2.0
#include "ggctl/jobfile/spec_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "core/spec/schema.h"
#include "ggctl/jobfile/job_file.h"

namespace gg {
namespace {

// A spec in which no field has its default.
JobSpec Unusual() {
  JobSpec spec;
  for (const Field& field : Fields()) {
    FieldValue value = DefaultValue(field);
    if (auto* v = std::get_if<int64_t>(&value)) *v += 1;
    if (auto* v = std::get_if<uint64_t>(&value)) *v = 18446744073709551615u;
    if (auto* v = std::get_if<double>(&value)) *v += 0.05;
    if (auto* v = std::get_if<bool>(&value)) *v = !*v;
    if (auto* v = std::get_if<std::vector<int64_t>>(&value)) {
      if (v->empty()) v->push_back(0);
      v->back() = 5;
    }
    if (auto* v = std::get_if<std::map<std::string, double>>(&value)) {
      *v = {{"*.bias", 0}, {"fc?.weight", 0.1}};
    }
    if (auto* v = std::get_if<std::string>(&value); v != nullptr && field.choices.size() > 1) {
      *v = std::string(field.choices[*v == field.choices[0] ? 1 : 0]);
    }
    EXPECT_TRUE(SetField(field, value, &spec).ok());
  }
  spec.name = "true";  // a name that YAML would take for something else
  spec.labels = {{"on", "1"}, {"team", "a/b.c"}};
  spec.data.path = "/data/with space: and #hash";
  spec.workers.min = spec.workers.max = 2;
  spec.data.limit_train = 100;
  spec.exchange.algorithm = "cocod";  // which alone has proportional batches
  spec.optimizer.momentum = 0.1;
  spec.optimizer.beta2 = 0.1;
  return spec;
}

TEST(SpecWriter, YamlReadsBackAsTheSameSpec) {
  const JobSpec spec = Unusual();
  const JobFile file = ParseJobFile({"x.yaml", JsonToYaml(JobFileJson(spec)), "/", "/", {}});
  for (const Problem& problem : file.errors)
    ADD_FAILURE() << FormatProblem(problem, file.text, false);
  EXPECT_EQ(file.spec, spec);
}

TEST(SpecWriter, JsonReadsBackAsTheSameSpec) {
  // Every JSON text is a YAML text.
  const JobSpec spec = Unusual();
  const JobFile file = ParseJobFile({"x.yaml", JobFileJson(spec).dump(2), "/", "/", {}});
  // Texts in quotes are not numbers, but JSON numbers are plain.
  for (const Problem& problem : file.errors)
    ADD_FAILURE() << FormatProblem(problem, file.text, false);
  EXPECT_EQ(file.spec, spec);
}

TEST(JsonToYaml, WritesNestedListsAndMaps) {
  const nlohmann::ordered_json json = {{"a", {1, 2}},
                                       {"b", {{{"c", "x y"}, {"d", nullptr}}, {{"e", true}}}},
                                       {"f", nlohmann::ordered_json::object()},
                                       {"g", nlohmann::ordered_json::array()}};
  EXPECT_EQ(JsonToYaml(json),
            "a: [1, 2]\n"
            "b:\n"
            "  - c: \"x y\"\n"
            "    d: null\n"
            "  - e: true\n"
            "f: {}\n"
            "g: []\n");
}

}  // namespace
}  // namespace gg
