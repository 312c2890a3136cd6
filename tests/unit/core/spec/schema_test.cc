// SPDX-License-Identifier: Apache-2.0
#include "core/spec/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Schema, PathsAreUniqueAndEachLiesInASection) {
  std::set<std::string> paths;
  for (const Field& field : Fields()) {
    EXPECT_TRUE(paths.insert(std::string(field.path)).second) << field.path;
    EXPECT_NE(FindSection(field.path.substr(0, field.path.rfind('.'))), nullptr) << field.path;
    EXPECT_FALSE(field.help.empty()) << field.path;
    EXPECT_TRUE(absl::EndsWith(field.help, ".")) << field.path;
  }
}

TEST(Schema, EveryFieldReachesAMemberOfItsOwn) {
  // Two lines of the table that write the same member would show here.
  JobSpec spec;
  std::set<const void*> members;
  for (const Field& field : Fields()) {
    const void* member = std::visit([](auto* m) -> const void* { return m; }, field.ref(spec));
    EXPECT_TRUE(members.insert(member).second) << field.path;
    EXPECT_EQ(field.ref(spec).index(), static_cast<size_t>(field.type)) << field.path;
  }
}

TEST(Schema, CoversEveryMemberOfTheSpec) {
  // Grows with job_spec.h: a member without a line in the table is one that nobody can set.
  EXPECT_EQ(Fields().size(), 2u + 3 + 11 + 12 + 10 + 24 + 5 + 6);
}

TEST(Schema, DefaultsAreInRangeAndAmongTheChoices) {
  for (const Field& field : Fields()) {
    const FieldValue value = DefaultValue(field);
    if (const auto* v = std::get_if<int64_t>(&value)) {
      EXPECT_TRUE(field.range.Contains(static_cast<double>(*v))) << field.path;
    }
    if (const auto* v = std::get_if<double>(&value)) {
      EXPECT_TRUE(field.range.Contains(*v)) << field.path;
    }
    if (const auto* v = std::get_if<std::string>(&value); v != nullptr && !field.choices.empty()) {
      EXPECT_NE(std::find(field.choices.begin(), field.choices.end(), *v), field.choices.end())
          << field.path;
    }
  }
}

TEST(Schema, ValuesSurviveTextAndBack) {
  for (const Field& field : Fields()) {
    if (field.type == FieldType::kStringMap || field.type == FieldType::kFloatMap) continue;
    const FieldValue value = DefaultValue(field);
    const auto parsed = ParseScalar(field, ValueToText(value));
    ASSERT_TRUE(parsed.ok()) << field.path << ": " << parsed.status();
    EXPECT_EQ(*parsed, value) << field.path;
  }
}

TEST(Schema, MembersAreListedInTheOrderOfTheFile) {
  EXPECT_THAT(MemberNames(""), ElementsAre("apiVersion", "kind", "metadata", "spec"));
  EXPECT_THAT(MemberNames("spec"), ElementsAre("model", "data", "optimizer", "learning_rate",
                                               "exchange", "train", "workers"));
  EXPECT_THAT(MemberNames("spec.workers"),
              ElementsAre("min", "max", "threads", "device", "transport", "start_timeout_seconds"));
}

TEST(Range, OpenEndsExcludeTheBound) {
  const Range range{0, 1, false, true};
  EXPECT_TRUE(range.Contains(0));
  EXPECT_FALSE(range.Contains(1));
  EXPECT_FALSE(range.Contains(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(range.ToString(), "0 <= value < 1");
  EXPECT_EQ(Range().ToString(), "");
}

struct BadScalar {
  const char* path;
  const char* text;
  const char* message;
};

class ParseScalarRefuses : public ::testing::TestWithParam<BadScalar> {};

TEST_P(ParseScalarRefuses, WithAMessage) {
  const auto [path, text, message] = GetParam();
  const auto value = ParseScalar(*FindField(path), text);
  ASSERT_FALSE(value.ok()) << path << " took " << text;
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(value.status().message()), HasSubstr(message));
}

INSTANTIATE_TEST_SUITE_P(
    , ParseScalarRefuses,
    ::testing::Values(BadScalar{"spec.train.epochs", "five",
                                "expected a whole number, got \"five\""},
                      BadScalar{"spec.train.epochs", "1e3", "write 1000"},
                      BadScalar{"spec.train.epochs", "2.5", "2.5"},
                      BadScalar{"spec.train.epochs", "", "got \"\""},
                      BadScalar{"spec.train.epochs", "99999999999999999999", "too large"},
                      BadScalar{"spec.train.seed", "-1", "0 or more"},
                      BadScalar{"spec.train.seed", "0x10", "0x10"},
                      BadScalar{"spec.data.stddev", "nan", "expected a number"},
                      BadScalar{"spec.data.stddev", "inf", "expected a number"},
                      BadScalar{"spec.data.stddev", "0x1p3", "expected a number"},
                      BadScalar{"spec.train.epochs", "-99999999999999999999", "too small"},
                      BadScalar{"spec.data.stddev", "1,5", "expected a number"},
                      BadScalar{"spec.exchange.rotate", "yes", "write true"},
                      BadScalar{"spec.exchange.rotate", "maybe", "expected true or false"},
                      BadScalar{"spec.model.hidden", "[1, 2", "not closed"},
                      BadScalar{"spec.model.hidden", "1, x", "whole numbers"},
                      BadScalar{"metadata.labels", "x", "key: value"}));

TEST(ParseScalar, SuggestsOnlyWhatItWouldTake) {
  for (const char* text : {"-1", "-2.0", "0x10"}) {
    const auto value = ParseScalar(*FindField("spec.train.seed"), text);
    EXPECT_THAT(std::string(value.status().message()), ::testing::Not(HasSubstr("write"))) << text;
  }
}

TEST(Range, CountsWholeNumbersExactly) {
  const Range& range = FindField("spec.train.max_steps")->range;
  EXPECT_TRUE(range.ContainsWhole(9007199254740992));
  EXPECT_FALSE(range.ContainsWhole(9007199254740993));
  EXPECT_FALSE(range.ContainsWhole(-1));
  EXPECT_TRUE(Range().ContainsWhole(std::numeric_limits<int64_t>::min()));
}

TEST(ParseScalar, KeepsAllBitsOfTheSeed) {
  const auto value = ParseScalar(*FindField("spec.train.seed"), "18446744073709551615");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(std::get<uint64_t>(*value), std::numeric_limits<uint64_t>::max());
}

TEST(ApplyOverride, TakesThePathWithAndWithoutSpec) {
  JobSpec spec;
  std::string path;
  ASSERT_TRUE(ApplyOverride("train.epochs=3", &spec, &path).ok());
  EXPECT_EQ(path, "spec.train.epochs");
  EXPECT_EQ(spec.train.epochs, 3);
  ASSERT_TRUE(ApplyOverride("spec.train.epochs=4", &spec, &path).ok());
  EXPECT_EQ(spec.train.epochs, 4);
  ASSERT_TRUE(ApplyOverride("model.hidden=[8, 9]", &spec, nullptr).ok());
  EXPECT_THAT(spec.model.hidden, ElementsAre(8, 9));
  ASSERT_TRUE(ApplyOverride("metadata.labels.team=a=b", &spec, &path).ok());
  EXPECT_EQ(spec.labels.at("team"), "a=b");
}

TEST(ApplyOverride, SetsOneKeyOfAMap) {
  JobSpec spec;
  std::string path;
  ASSERT_TRUE(ApplyOverride("optimizer.weight_decays.*.bias=0", &spec, &path).ok());
  EXPECT_EQ(path, "spec.optimizer.weight_decays.*.bias");
  ASSERT_TRUE(ApplyOverride("spec.optimizer.weight_decays.fc?.weight=0.5", &spec, &path).ok());
  EXPECT_THAT(spec.optimizer.weight_decays,
              ElementsAre(::testing::Pair("*.bias", 0), ::testing::Pair("fc?.weight", 0.5)));
  EXPECT_EQ(ValueToText(GetField(*FindField("spec.optimizer.weight_decays"), spec)),
            "{*.bias: 0, fc?.weight: 0.5}");
  for (const char* bad : {"optimizer.weight_decays.x=much", "optimizer.weight_decays.x=nan",
                          "optimizer.weight_decays=0"}) {
    const absl::Status status = ApplyOverride(bad, &spec, nullptr);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("spec.optimizer.weight_decays")) << bad;
  }
}

TEST(ApplyOverride, NamesTheNearestPath) {
  JobSpec spec;
  const absl::Status status = ApplyOverride("train.epoch=3", &spec, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean \"spec.train.epochs\"?"));
}

TEST(ApplyOverride, NamesAPathOnlyForASlipInItsLastName) {
  const auto message = [](absl::string_view path) {
    JobSpec spec;
    return std::string(ApplyOverride(absl::StrCat(path, "=1"), &spec, nullptr).message());
  };
  for (const char* path : {"exchange.foo", "spec.exchange.foo", "foo", "model.foo", "train.x"})
    EXPECT_THAT(message(path), ::testing::Not(HasSubstr("did you mean"))) << path;
  for (const char* path : {"exchange.rotat", "exchnage.rotate", "spec.exchange.Rotate"})
    EXPECT_THAT(message(path), HasSubstr("did you mean \"spec.exchange.rotate\"?")) << path;
}

TEST(ApplyOverride, RefusesASectionAndTextWithoutEquals) {
  JobSpec spec;
  EXPECT_THAT(std::string(ApplyOverride("train=3", &spec, nullptr).message()),
              HasSubstr("unknown field"));
  EXPECT_THAT(std::string(ApplyOverride("spec.train=3", &spec, nullptr).message()),
              HasSubstr("holds other fields"));
  EXPECT_THAT(std::string(ApplyOverride("train.epochs", &spec, nullptr).message()),
              HasSubstr("path=value"));
  EXPECT_THAT(std::string(ApplyOverride("=3", &spec, nullptr).message()), HasSubstr("path=value"));
  EXPECT_EQ(spec, JobSpec());
}

}  // namespace
}  // namespace gg
