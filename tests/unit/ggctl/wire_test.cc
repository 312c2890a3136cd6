// SPDX-License-Identifier: Apache-2.0
// A job on its way from ggctl to the coordinator: no field of the table is lost on the wire.
#include <gtest/gtest.h>

#include "core/spec/schema.h"
#include "proto/codec/job_spec_codec.h"

namespace gg {
namespace {

// A value that no default-constructed spec has.
FieldValue Other(const FieldValue& value) {
  struct Visitor {
    FieldValue operator()(const std::string& v) const { return v + "x"; }
    FieldValue operator()(int64_t v) const { return v + 1; }
    FieldValue operator()(uint64_t v) const { return v + 1; }
    FieldValue operator()(double v) const { return v + 0.125; }
    FieldValue operator()(bool v) const { return !v; }
    FieldValue operator()(const std::vector<int64_t>& v) const {
      return std::vector<int64_t>(v.size() + 1, 7);
    }
    FieldValue operator()(const std::map<std::string, std::string>&) const {
      return std::map<std::string, std::string>{{"k", "v"}};
    }
    FieldValue operator()(const std::map<std::string, double>&) const {
      return std::map<std::string, double>{{"k", 0.25}};
    }
  };
  return std::visit(Visitor(), value);
}

TEST(Wire, CarriesEveryFieldOfTheTable) {
  for (const Field& field : Fields()) {
    JobSpec spec;
    ASSERT_TRUE(SetField(field, Other(DefaultValue(field)), &spec).ok());
    EXPECT_EQ(FromProto(ToProto(spec)), spec) << field.path;
    EXPECT_NE(FromProto(ToProto(spec)), JobSpec()) << field.path;
  }
}

}  // namespace
}  // namespace gg
