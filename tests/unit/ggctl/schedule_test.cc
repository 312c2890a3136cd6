// SPDX-License-Identifier: Apache-2.0
// `ggctl schedule explain`. No coordinator is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "ggctl/cli.h"
#include "tests/unit/ggctl/golden.h"

namespace gg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Result {
  int code;
  std::string out, err;
};

Result Explain(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"schedule", "explain"});
  std::ostringstream out, err;
  const int code = RunGgctl(arguments, out, err);
  return {code, out.str(), err.str()};
}

std::string Golden(std::vector<std::string> arguments) {
  const Result result = Explain(std::move(arguments));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return result.out;
}

const std::vector<std::string> kRandom = {"--schedule", "random", "--workers", "5", "--steps", "4"};
const std::vector<std::string> kHierarchical = {
    "--schedule", "hierarchical", "--workers", "6", "--groups", "3", "--steps", "4"};

std::vector<std::string> As(std::vector<std::string> arguments, const char* form) {
  arguments.insert(arguments.end(), {"-o", form});
  return arguments;
}

TEST(ScheduleExplain, TheTableIsStable) {
  ExpectGolden(GG_TESTDATA "/schedule-random.txt", Golden(kRandom));
  ExpectGolden(GG_TESTDATA "/schedule-hierarchical.txt", Golden(kHierarchical));
  ExpectGolden(GG_TESTDATA "/schedule-ring.txt",
               Golden({"--schedule", "ring", "--workers", "4", "--no-rotate"}));
}

TEST(ScheduleExplain, DocumentsAreStable) {
  ExpectGolden(GG_TESTDATA "/schedule-random.json", Golden(As(kRandom, "json")));
  ExpectGolden(GG_TESTDATA "/schedule-hierarchical.yaml", Golden(As(kHierarchical, "yaml")));
}

TEST(ScheduleExplain, PicturesAreStable) {
  ExpectGolden(GG_TESTDATA "/schedule-hierarchical.dot", Golden(As(kHierarchical, "dot")));
  ExpectGolden(GG_TESTDATA "/schedule-hierarchical.svg", Golden(As(kHierarchical, "svg")));
  ExpectGolden(GG_TESTDATA "/schedule-random.dot", Golden(As(kRandom, "dot")));
}

// Nothing is fetched, there are colours for dark pages, and a panel per step.
TEST(ScheduleExplain, ASvgStandsAlone) {
  const std::string svg =
      Golden({"--schedule", "exponential", "--workers", "9", "--steps", "20", "-o", "svg"});
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr(">step 19<"));
  EXPECT_THAT(svg, Not(HasSubstr(">step 20<")));
  EXPECT_THAT(svg, Not(HasSubstr("left out")));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_EQ(svg.find("http"), svg.find("http://www.w3.org/2000/svg"));
}

TEST(ScheduleExplain, ASvgSaysWhatItLeavesOut) {
  const std::string svg =
      Golden({"--schedule", "ring", "--workers", "4", "--steps", "100", "-o", "svg"});
  EXPECT_THAT(svg, HasSubstr(">step 31<"));
  EXPECT_THAT(svg, Not(HasSubstr(">step 32<")));
  EXPECT_THAT(svg, HasSubstr(">left out: steps 32 to 99<"));
}

// Three digits fit into a dot, and dots do not touch.
TEST(ScheduleExplain, ASvgOfManyWorkersIsLarger) {
  const std::string svg =
      Golden({"--schedule", "ring", "--workers", "256", "--steps", "1", "-o", "svg"});
  EXPECT_THAT(svg, HasSubstr(">255</text>"));
  EXPECT_THAT(svg, HasSubstr("r=\"8.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"1686\""));
}

TEST(ScheduleExplain, OneOfAThingIsNotMany) {
  const std::string one = Golden({"--schedule", "ring", "--workers", "1"});
  EXPECT_THAT(one, HasSubstr("ring, 1 worker, seed 1"));
  EXPECT_THAT(Golden({"--schedule", "ring", "--workers", "1", "-o", "svg"}),
              HasSubstr("ring, 1 worker<"));
  EXPECT_THAT(Golden({"--schedule", "ring", "--workers", "2"}),
              HasSubstr("Round:        1 step\n"));
}

TEST(ScheduleExplain, DefaultsToOneRoundAndKnowsEverySchedule) {
  for (const char* name : {"dissemination", "hypercube", "ring", "exponential", "random"}) {
    const auto json =
        nlohmann::json::parse(Golden({"--schedule", name, "--workers", "8", "-o", "json"}));
    EXPECT_EQ(json["steps"].size(), json["round_length"]) << name;
    EXPECT_EQ(json["workers"], 8);
    EXPECT_GE(json["steps_until_influenced"], 3) << name;
  }
  const auto alone =
      nlohmann::json::parse(Golden({"--schedule", "ring", "--workers", "1", "-o", "json"}));
  EXPECT_EQ(alone["steps_until_influenced"], 0);
}

TEST(ScheduleExplain, WhatNeverMeetsIsSaid) {
  const std::string text = Golden({"--schedule", "ring", "--workers", "5", "--no-rotate"});
  EXPECT_THAT(text, HasSubstr("Influenced:   everybody by everybody after 4 steps\n"));
  EXPECT_THAT(text, HasSubstr("Met directly: not every two within 20000 steps\n"));
}

TEST(ScheduleExplain, ATableCanBecomeAGraphFile) {
  const std::string path = ::testing::TempDir() + "/ggctl-schedule-test.txt";
  std::ofstream(path) << "workers 4\n0>3 1>0 2>1 3>2\n0-2 1-3\n";
  const std::string text = Golden({"--schedule", "graph", "--graph-file", path, "--no-rotate"});
  EXPECT_THAT(text, HasSubstr("0     0      0>3 1>0 2>1 3>2\n1     0      0-2 1-3\n"));
}

struct Mistake {
  std::vector<std::string> arguments;
  const char* message;
};
class ScheduleMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(ScheduleMistake, EndsWithTwoAndSaysWhy) {
  const Result result = Explain(GetParam().arguments);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    , ScheduleMistake,
    ::testing::Values(
        Mistake{{}, "--schedule is required"},
        Mistake{{"--schedule", "rign", "--workers", "4"}, "did you mean \"ring\"?"},
        Mistake{{"--schedule", "ring"}, "--workers is required"},
        Mistake{{"--schedule", "ring", "--workers", "0"}, "--workers"},
        Mistake{{"--schedule", "ring", "--workers", "257"}, "--workers"},
        Mistake{{"--schedule", "ring", "--workers", "4", "--steps", "0"}, "--steps"},
        Mistake{{"--schedule", "ring", "--workers", "4", "--seed", "-1"}, "--seed"},
        Mistake{{"--schedule", "ring", "--workers", "4", "--seed=-1"},
                "from 0 to 18446744073709551615, got -1"},
        Mistake{{"--schedule", "ring", "--workers", "4", "--seed=99999999999999999999"}, "--seed"},
        Mistake{{"--schedule", "hypercube", "--workers", "6"}, "use 4 or 8 workers"},
        Mistake{{"--schedule", "hierarchical", "--workers", "6"}, "needs --groups"},
        Mistake{{"--schedule", "hierarchical", "--workers", "6", "--groups", "4"},
                "cannot stand in 4 groups"},
        Mistake{{"--schedule", "ring", "--workers", "6", "--groups", "2"}, "hierarchical only"},
        Mistake{{"--schedule", "ring", "--workers", "6", "--graph-file", "x"}, "graph only"},
        Mistake{{"--schedule", "graph"}, "needs --graph-file"},
        Mistake{{"--schedule", "graph", "--graph-file", "/nonexistent"},
                "cannot read /nonexistent: No such file"},
        Mistake{{"--schedule", "graph", "--graph-file", "/"}, "is not a regular file"},
        Mistake{{"--schedule", "ring", "--workers", "4", "-o", "wide"},
                "wide not in {table,json,yaml,dot,svg}"}));

}  // namespace
}  // namespace gg
