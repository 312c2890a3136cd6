// SPDX-License-Identifier: Apache-2.0
// The command line itself: no coordinator is asked.
#include "ggctl/cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/ggctl/golden.h"

namespace gg {
namespace {

using ::testing::HasSubstr;

struct Result {
  int code;
  std::string out, err;
};

Result Ggctl(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = RunGgctl(arguments, out, err);
  return {code, out.str(), err.str()};
}

struct Mistake {
  std::vector<std::string> arguments;
  const char* message;
};
class UsageTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(UsageTest, EndsWithTwoAndSaysWhy) {
  const Result result = Ggctl(GetParam().arguments);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    , UsageTest,
    ::testing::Values(
        Mistake{{}, "Usage: ggctl"}, Mistake{{"vlaidate", "-f", "x"}, "did you mean \"validate\"?"},
        Mistake{{"local"}, "Usage: ggctl local"},
        Mistake{{"local", "rnu"}, "did you mean \"run\"?"},
        Mistake{{"frobnicate"}, "known: local, compare, validate"},
        Mistake{{"submit"}, "--filename is required"},
        Mistake{{"submit", "--wtch", "-f", "x"}, "did you mean --watch?"},
        Mistake{{"submit", "-f", "x", "--watch", "--wait"}, "excludes"},
        Mistake{{"get", "jbos"}, "did you mean \"jobs\"?"},
        Mistake{{"get", "jobs", "-o", "xml"}, "xml not in {wide,name,json,yaml}"},
        Mistake{{"validate", "-f", "x", "-o", "wide"}, "wide not in {json,yaml,name}"},
        Mistake{{"version", "-o", "name"}, "name not in {wide,json,yaml}"},
        Mistake{{"get", "jobs", "-l", "a==b=c"}, "-l: cannot read \"a==b=c\""},
        Mistake{{"get", "jobs", "-l", ","}, "-l: cannot read \"\""},
        Mistake{{"get", "workers", "-l", "a=b"}, "workers have no labels"},
        Mistake{{"describe", "job"}, "name the job"},
        Mistake{{"explain", "train", "-o", "markdown"}, "leave out PATH"},
        Mistake{{"explain", "trian.xyz", "-o", "json"}, "no field \"trian.xyz\""},
        Mistake{{"local", "run", "-f", GG_EXAMPLES "/fashion-mlp.yaml", "--workers", "4",
                 "--topology", "rack=0,0,1"},
                "the places of 4 workers"},
        Mistake{{"local", "run", "-f", GG_EXAMPLES "/fashion-mlp.yaml", "--workers", "2",
                 "--topology", "rack"},
                "expected NAME= and the places"},
        Mistake{{"local", "run", "-f", GG_EXAMPLES "/fashion-mlp.yaml", "--workers", "2",
                 "--topology", "rack=0,", "--topology", "rack=0,1"},
                "a topology value must not be empty"},
        Mistake{{"local", "run", "-f", GG_EXAMPLES "/fashion-mlp.yaml", "--workers", "2",
                 "--topology", "rack=0,0", "--topology", "rack=0,1"},
                "--topology rack is given twice"},
        Mistake{{"submit", "-f", GG_EXAMPLES "/fashion-mlp.yaml", "--name", "A b"},
                "--name A b: error: metadata.name"},
        Mistake{{"validate", "-f", ""}, "the name of the job file is empty"},
        Mistake{{"describe", "worker", "x"}, "known: job"},
        Mistake{{"validate", "-f", "/nonexistent.yaml"}, "cannot be opened: No such file"},
        Mistake{{"validate", "-f", "/"}, "is a folder"},
        Mistake{{"explain", "spec.exchange.scheduel"}, "did you mean \"spec.exchange.schedule\"?"},
        Mistake{{"explain", "train.epoch"}, "did you mean \"spec.train.epochs\"?"},
        Mistake{{"version", "--client", "--request-timeout", "soon"},
                "expected a time such as 10s"},
        Mistake{{"version", "--client", "--request-timeout", "nan"}, "expected a time"},
        Mistake{{"version", "--client", "--request-timeout", "inf"}, "expected a time"},
        Mistake{{"version", "--client", "--request-timeout=-1"}, "expected a time"},
        Mistake{{"version", "--client", "--request-timeout", "1e300"}, "expected a time"},
        Mistake{{"submit", "-f", "x", "--timeout", "nan"}, "--timeout: expected seconds"},
        Mistake{{"submit", "-f", "x", "--timeout", "inf"}, "--timeout: expected seconds"},
        Mistake{{"submit", "-f", "x", "--timeout=-1"}, "--timeout: expected seconds"},
        Mistake{{"version", "--client", "--server", ""}, "--server: expected host:port"},
        Mistake{{"version", "--client", "--server", "host"}, "--server: expected host:port"},
        Mistake{{"version", "--client", "--server", "host:0"}, "--server: expected host:port"},
        Mistake{{"version", "--client", "--server", "::1:7070"}, "--server: expected host:port"},
        Mistake{{"version", "--client", "--color", "red"}, "red"},
        Mistake{{"version", "--client", "what"}, "unexpected argument \"what\""}));

TEST(Cli, HelpGoesToStandardOutputWithSuccess) {
  EXPECT_EQ(Ggctl({"--help"}).code, 0);
  const Result result = Ggctl({"local", "run", "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("Usage: ggctl local run [OPTIONS]"));
  EXPECT_EQ(result.err, "");
}

TEST(Cli, OptionsOfGgctlStandBeforeOrAfterTheVerb) {
  EXPECT_EQ(Ggctl({"--color", "never", "version", "--client"}).code, 0);
  EXPECT_EQ(Ggctl({"version", "--client", "--color", "never"}).code, 0);
}

TEST(Cli, ColorIsThereWhenAskedForOnly) {
  const std::string bad = GG_TESTDATA "/five-mistakes.yaml";
  EXPECT_THAT(Ggctl({"validate", "-f", bad, "--color", "always"}).err, HasSubstr("\x1b["));
  EXPECT_THAT(Ggctl({"validate", "-f", bad, "--color", "never"}).err, Not(HasSubstr("\x1b[")));
}

TEST(Validate, ShowsEveryProblemAndCountsThem) {
  const Result result =
      Ggctl({"validate", "-f", GG_TESTDATA "/five-mistakes.yaml", "--color", "never"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("five-mistakes.yaml:14:13: error: spec.train.epochs"));
  EXPECT_THAT(result.err, HasSubstr("five-mistakes.yaml: 5 problems\n"));
}

TEST(Validate, AFileThatCannotBeReadIsNotEmpty) {
  const Result result = Ggctl({"validate", "-f", "/proc/self/mem"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("/proc/self/mem: cannot be read: Input/output error"));
}

TEST(Validate, CutsAListOfThousands) {
  const std::string file = ::testing::TempDir() + "/gg-many-" + std::to_string(getpid()) + ".yaml";
  {
    std::ofstream out(file);
    for (int i = 0; i < 1000; ++i) out << "key" << i << ": 1\n";
  }
  const Result result = Ggctl({"validate", "-f", file});
  std::filesystem::remove(file);
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("... and 955 more\n"));
  EXPECT_LT(std::count(result.err.begin(), result.err.end(), '\n'), 250);
}

TEST(Validate, SaysThatAJobIsGoodOrWritesItOut) {
  const std::string file = GG_EXAMPLES "/fashion-lenet.yaml";
  EXPECT_EQ(Ggctl({"validate", "-f", file}).out, "job/fashion-lenet is valid\n");
  EXPECT_THAT(Ggctl({"validate", "-f", file, "-o", "yaml", "--set", "train.epochs=2"}).out,
              HasSubstr("    epochs: 2\n"));
}

TEST(Validate, MistakesAreDataForPrograms) {
  // Not the path of this checkout.
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(GG_TESTDATA);
  const Result json =
      Ggctl({"validate", "-f", "five-mistakes.yaml", "-o", "json", "--set", "train.seed=x"});
  const Result yaml = Ggctl({"validate", "-f", "five-mistakes.yaml", "-o", "yaml"});
  std::filesystem::current_path(here);
  EXPECT_EQ(json.code, 2);
  EXPECT_EQ(yaml.code, 2);
  ExpectGolden(GG_TESTDATA "/five-mistakes.json", json.out);
  EXPECT_THAT(yaml.out, HasSubstr("kind: ProblemList\nitems:\n  - severity: error\n"));
  EXPECT_THAT(json.err, HasSubstr("five-mistakes.yaml: 6 problems\n"));
}

TEST(Validate, AFileThatIsNotThereIsAProblemToo) {
  const Result result = Ggctl({"validate", "-f", "/nonexistent.yaml", "-o", "json"});
  EXPECT_EQ(result.code, 2);
  const auto list = nlohmann::json::parse(result.out);
  ASSERT_EQ(list["items"].size(), 1u);
  EXPECT_EQ(list["items"][0]["source"], "/nonexistent.yaml");
  EXPECT_TRUE(list["items"][0]["line"].is_null());
}

TEST(Validate, AGoodJobIsTheSameDocumentInBothForms) {
  const std::string file = GG_EXAMPLES "/fashion-lenet.yaml";
  const auto json = nlohmann::json::parse(Ggctl({"validate", "-f", file, "-o", "json"}).out);
  EXPECT_EQ(json["kind"], "TrainingJob");
  EXPECT_EQ(Ggctl({"validate", "-f", file, "-o", "name"}).out, "job/fashion-lenet\n");
}

TEST(Version, IsTheSameInEachForm) {
  const auto json = nlohmann::json::parse(Ggctl({"version", "--client", "-o", "json"}).out);
  const std::string version = json["client"]["version"];
  EXPECT_THAT(Ggctl({"version", "--client", "-o", "yaml"}).out,
              HasSubstr("version: \"" + version + "\"\n"));
  EXPECT_THAT(Ggctl({"version", "--client"}).out, HasSubstr("client  " + version + "\n"));
  EXPECT_THAT(Ggctl({"version", "--client", "-o", "wide"}).out, HasSubstr(version + "  protocol "));
}

TEST(Submit, ADryRunOfTheClientNeedsNoCoordinator) {
  const std::vector<std::string> submit = {"submit", "-f",       GG_EXAMPLES "/fashion-mlp.yaml",
                                           "--name", "other",    "--dry-run",
                                           "client", "--server", "127.0.0.1:1"};
  std::vector<std::string> as_json = submit;
  as_json.insert(as_json.end(), {"-o", "json"});
  EXPECT_EQ(Ggctl(submit).out, "job/other accepted (dry run)\n");
  const Result json = Ggctl(as_json);
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["metadata"]["name"], "other");
}

TEST(Explain, FieldsAreDataForPrograms) {
  const auto all = nlohmann::json::parse(Ggctl({"explain", "-o", "json"}).out);
  EXPECT_EQ(all["kind"], "FieldList");
  const auto one = nlohmann::json::parse(Ggctl({"explain", "train.epochs", "-o", "json"}).out);
  ASSERT_EQ(one["items"].size(), 1u);
  EXPECT_EQ(one["items"][0]["path"], "spec.train.epochs");
  EXPECT_EQ(one["items"][0]["default"], 5);
  EXPECT_EQ(one["items"][0]["minimum"], 1);
  const auto section =
      nlohmann::json::parse(Ggctl({"explain", "job.spec.train", "-o", "json"}).out);
  EXPECT_GT(section["items"].size(), 1u);
  EXPECT_LT(section["items"].size(), all["items"].size());
}

TEST(Explain, AFieldASectionAndTheTopAreStable) {
  ExpectGolden(GG_TESTDATA "/explain-field.txt",
               Ggctl({"explain", "spec.exchange.deadline_seconds"}).out);
  ExpectGolden(GG_TESTDATA "/explain-section.txt", Ggctl({"explain", "job.spec.workers"}).out);
  ExpectGolden(GG_TESTDATA "/explain-top.txt", Ggctl({"explain"}).out);
  EXPECT_EQ(Ggctl({"explain", "workers"}).out, Ggctl({"explain", "spec.workers"}).out);
}

TEST(Explain, TheReferenceInTheDocsIsTheOneOfThisTable) {
  // After a change of the table: ggctl explain --all -o markdown > docs/job-file.md
  ExpectGolden(GG_DOCS "/job-file.md", Ggctl({"explain", "--all", "-o", "markdown"}).out);
}

}  // namespace
}  // namespace gg
