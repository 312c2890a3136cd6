// SPDX-License-Identifier: Apache-2.0
#include "ggctl/jobfile/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/ggctl/golden.h"

namespace gg {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kHead[] = "apiVersion: gossipgrad.dev/v1\nkind: TrainingJob\nmetadata: {name: a}\n";

JobFile Parse(const std::string& text, std::vector<Override> overrides = {}) {
  return ParseJobFile({"job.yaml", text, "/jobs", "/here", std::move(overrides)});
}

std::string Shown(const JobFile& file) {
  std::string out;
  for (const Problem& problem : file.errors) out += FormatProblem(problem, file.text, false);
  return out;
}

JobFile ParseSpec(const std::string& spec) {
  return Parse(absl::StrCat(kHead, spec));
}

TEST(JobFile, FiveMistakesGiveFiveErrorsWithTheirPlaces) {
  const JobFile file =
      ParseJobFile({"five-mistakes.yaml", Slurp(GG_TESTDATA "/five-mistakes.yaml"), "/", "/", {}});
  EXPECT_THAT(file.errors, SizeIs(5));
  ExpectGolden(GG_TESTDATA "/five-mistakes.txt", Shown(file));
}

TEST(JobFile, EveryExampleIsValidWithoutWarnings) {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GG_EXAMPLES)) {
    if (entry.path().extension() != ".yaml") continue;
    ++examples;
    const JobFile file =
        ParseJobFile({entry.path().string(), Slurp(entry.path().string()), "/", "/", {}});
    EXPECT_EQ(Shown(file), "");
    EXPECT_THAT(file.warnings, IsEmpty()) << entry.path();
    EXPECT_EQ(file.spec.name, entry.path().stem().string());
  }
  EXPECT_GE(examples, 2);
}

TEST(JobFile, ReadsEachTypeOfField) {
  const JobFile file = ParseSpec(
      "spec:\n"
      "  model: {name: mlp, hidden: [3, 4], dropout: 0.25}\n"
      "  data: {format: \"synthetic\"}\n"
      "  exchange: {rotate: false}\n"
      "  train: {seed: 18446744073709551615, epochs: 7}\n");
  EXPECT_EQ(Shown(file), "");
  EXPECT_EQ(file.spec.model.hidden, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(file.spec.model.dropout, 0.25);
  EXPECT_EQ(file.spec.exchange.rotate, false);
  EXPECT_EQ(file.spec.train.seed, 18446744073709551615u);
  EXPECT_EQ(file.spec.train.epochs, 7);
}

TEST(JobFile, ReadsMapsOfNumbersAndSetsTheirKeys) {
  const JobFile file = Parse(absl::StrCat(kHead,
                                          "spec:\n"
                                          "  data: {format: synthetic}\n"
                                          "  optimizer:\n"
                                          "    weight_decays: {\"*.bias\": 0, fc1.weight: 1e-4}\n"),
                             {{"optimizer.weight_decays.*.bias=0.5", "--set"},
                              {"optimizer.rate_factors.fc?.*=2", "--set"}});
  EXPECT_EQ(Shown(file), "");
  EXPECT_EQ(file.spec.optimizer.weight_decays,
            (std::map<std::string, double>{{"*.bias", 0.5}, {"fc1.weight", 1e-4}}));
  EXPECT_EQ(file.spec.optimizer.rate_factors, (std::map<std::string, double>{{"fc?.*", 2}}));
}

struct BadFile {
  const char* what;
  std::string text;
  int line, column;
  const char* path;
  const char* message;
};
void PrintTo(const BadFile& bad, std::ostream* os) {
  *os << bad.what;
}

class JobFileRefuses : public ::testing::TestWithParam<BadFile> {};

TEST_P(JobFileRefuses, WithOneErrorAtItsPlace) {
  const BadFile& bad = GetParam();
  const JobFile file = Parse(bad.text);
  ASSERT_THAT(file.errors, SizeIs(1)) << Shown(file);
  const Problem& problem = file.errors[0];
  EXPECT_EQ(problem.source, "job.yaml");
  EXPECT_EQ(problem.position, (Position{bad.line, bad.column})) << Shown(file);
  EXPECT_EQ(problem.path, bad.path);
  EXPECT_THAT(problem.message + "; " + problem.suggestion, HasSubstr(bad.message));
}

std::string With(const std::string& spec) {
  return absl::StrCat(kHead, "spec:\n  data: {format: synthetic}\n", spec);
}

INSTANTIATE_TEST_SUITE_P(
    , JobFileRefuses,
    ::testing::Values(
        BadFile{"empty", "", 1, 1, "", "the file is empty"},
        BadFile{"comments only", "# a\n\n", 1, 1, "", "the file is empty"},
        BadFile{"a list", "- a\n- b\n", 1, 1, "", "expected a mapping"},
        BadFile{"a word", "hello\n", 1, 1, "", "got a value"},
        BadFile{"bad UTF-8", "metadata: \xC3(\n", 1, 11, "", "byte 0xc3"},
        BadFile{"binary",
                std::string("\x7f"
                            "ELF\0",
                            5),
                1, 1, "", "not a UTF-8 text file"},
        BadFile{"UTF-16",
                std::string("\xff\xfe"
                            "a\0",
                            4),
                1, 1, "", "not a UTF-8 text file"},
        BadFile{"too large", std::string(kMaxJobFileBytes + 1, '#'), 1, 1, "",
                "larger than 256 KiB"},
        BadFile{"a tab", "spec:\n\tdata: 1\n", 2, 6, "", "use spaces"},
        BadFile{"an open bracket", "spec: [1, 2\n", 2, 1, "", "not valid YAML"},
        BadFile{"a second document", With("---\nspec: {}\n"), 7, 1, "", "one job per file"},
        BadFile{"wrong apiVersion",
                "apiVersion: v1\nkind: TrainingJob\nmetadata: {name: a}\nspec: {data: {format: "
                "synthetic}}\n",
                1, 13, "apiVersion", "write apiVersion: gossipgrad.dev/v1"},
        BadFile{"no kind",
                "apiVersion: gossipgrad.dev/v1\nmetadata: {name: a}\nspec: {data: {format: "
                "synthetic}}\n",
                1, 1, "kind", "is required"},
        BadFile{"a kind that is a list",
                "apiVersion: gossipgrad.dev/v1\nkind: [a]\nmetadata: {name: a}\nspec: {data: "
                "{format: synthetic}}\n",
                2, 7, "kind", "got a list"},
        BadFile{
            "no name",
            "apiVersion: gossipgrad.dev/v1\nkind: TrainingJob\nspec: {data: {format: synthetic}}\n",
            1, 1, "metadata.name", "is required"},
        BadFile{"unknown top level", With("metdata: {}\n"), 6, 1, "metdata",
                "did you mean \"metadata\"?"},
        BadFile{"field of another section", With("  train: {batch_size: 1, schedule: hypercube}\n"),
                6, 26, "spec.train.schedule", "belongs to spec.exchange"},
        BadFile{"camel case", With("  train: {batchSize: 1}\n"), 6, 11, "spec.train.batchSize",
                "did you mean \"batch_size\"?"},
        BadFile{"nothing like it", With("  train: {xyzzy: 1}\n"), 6, 11, "spec.train.xyzzy",
                "known here: epochs"},
        BadFile{"given twice", With("  train: {epochs: 1, epochs: 2}\n"), 6, 22,
                "spec.train.epochs", "first in line 6"},
        BadFile{"section given twice", With("  data: {}\n"), 6, 3, "spec.data", "given twice"},
        BadFile{"a list for a number", With("  train: {epochs: [1]}\n"), 6, 19, "spec.train.epochs",
                "expected an int, got a list"},
        BadFile{"a mapping for text", With("  model: {name: {a: b}}\n"), 6, 17, "spec.model.name",
                "got a mapping"},
        BadFile{"a word for a number", With("  train: {epochs: many}\n"), 6, 19,
                "spec.train.epochs", "got \"many\""},
        BadFile{"a value for a section", With("  train: 3\n"), 6, 10, "spec.train",
                "expected a mapping of fields"},
        BadFile{"a value for a list", With("  model: {hidden: 3}\n"), 6, 19, "spec.model.hidden",
                "got a value"},
        BadFile{"a bad element", With("  model: {hidden: [3, x]}\n"), 6, 23, "spec.model.hidden",
                "got \"x\""},
        BadFile{"text in a map of numbers", With("  optimizer: {weight_decays: {x: \"0\"}}\n"), 6,
                34, "spec.optimizer.weight_decays", "key \"x\": expected a number, got text"},
        BadFile{"a word in a map of numbers", With("  optimizer: {rate_factors: {x: much}}\n"), 6,
                33, "spec.optimizer.rate_factors", "key \"x\": expected a number, got \"much\""},
        BadFile{"a list for a map", With("  optimizer: {rate_factors: [1]}\n"), 6, 29,
                "spec.optimizer.rate_factors", "expected key: value pairs, got a list"},
        BadFile{"a key given twice", With("  optimizer: {rate_factors: {x: 1, x: 2}}\n"), 6, 36,
                "spec.optimizer.rate_factors", "given twice"},
        BadFile{"no value", With("  train:\n    epochs:\n"), 7, 5, "spec.train.epochs",
                "has no value"},
        BadFile{"yes for true", With("  exchange: {rotate: yes}\n"), 6, 22, "spec.exchange.rotate",
                "write true"},
        BadFile{"an anchor", With("  train: &t {epochs: 1}\n"), 6, 10, "", "anchors"},
        BadFile{"a tag", With("  train: {epochs: !!int 1}\n"), 6, 19, "", "tags are not supported"},
        BadFile{"a mapping as a key", With("  train: {? {a: b} : 1}\n"), 6, 13, "spec.train",
                "expected a name"},
        BadFile{"column after wide characters", With("  train: {seed: 1, é: 2}\n"), 6, 20,
                "spec.train.é", "unknown field"},
        BadFile{"a leading zero", With("  train: {epochs: 010}\n"), 6, 19, "spec.train.epochs",
                "write it without leading zeros"},
        BadFile{"not a number", With("  learning_rate: {base: .nan}\n"), 6, 25,
                "spec.learning_rate.base", "expected a number"},
        BadFile{"a range", With("  train: {epochs: 0}\n"), 6, 19, "spec.train.epochs",
                "1 <= value"},
        BadFile{"a rule over fields", With("  workers: {min: 3, max: 2}\n"), 6, 26,
                "spec.workers.max", "set max to 3"}));

TEST(JobFile, ABombOfAliasesIsRefusedNotExpanded) {
  std::string text = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'm'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    absl::StrAppend(&text, std::string(1, c), ": &", std::string(1, c), " [");
    for (int i = 0; i < 9; ++i) absl::StrAppend(&text, i > 0 ? ", " : "", "*", before);
    absl::StrAppend(&text, "]\n");
  }
  const JobFile file = Parse(text);
  EXPECT_FALSE(file.ok());
  EXPECT_THAT(Shown(file), HasSubstr("aliases"));
  EXPECT_LT(file.errors.size(), 100u);
}

TEST(JobFile, DeepNestingIsRefused) {
  for (const int depth : {17, 400, 100000}) {
    const JobFile file = Parse(absl::StrCat("spec: ", std::string(static_cast<size_t>(depth), '['),
                                            std::string(static_cast<size_t>(depth), ']'), "\n"));
    EXPECT_FALSE(file.ok()) << depth;
  }
}

TEST(JobFile, MissingFieldsPointAtTheirSection) {
  const JobFile file = ParseSpec("spec:\n  data:\n    mean: 0.5\n");
  ASSERT_THAT(file.errors, SizeIs(1));
  EXPECT_EQ(file.errors[0].path, "spec.data.path");
  EXPECT_EQ(file.errors[0].position, (Position{5, 3}));
}

TEST(JobFile, RelativePathsCountFromTheFileThoseOfOverridesFromTheCurrentFolder) {
  EXPECT_EQ(ParseSpec("spec: {data: {path: ../data}}\n").spec.data.path, "/data");
  EXPECT_EQ(ParseSpec("spec: {data: {path: /abs}}\n").spec.data.path, "/abs");
  const JobFile file = Parse(absl::StrCat(kHead, "spec: {data: {path: data}}\n"),
                             {{"data.path=other", "--set data.path=other"}});
  EXPECT_EQ(file.spec.data.path, "/here/other");
  EXPECT_EQ(ParseSpec("spec: {exchange: {graph_file: ../g.txt}}\n").spec.exchange.graph_file,
            "/g.txt");
  const JobFile graph = Parse(absl::StrCat(kHead, "spec: {exchange: {graph_file: g.txt}}\n"),
                              {{"exchange.graph_file=h.txt", "--set exchange.graph_file=h.txt"}});
  EXPECT_EQ(graph.spec.exchange.graph_file, "/here/h.txt");
}

TEST(JobFile, OverridesWinAndHealTheField) {
  const JobFile file =
      Parse(With("  train: {epochs: many}\n"), {{"train.epochs=3", "--set train.epochs=3"}});
  EXPECT_EQ(Shown(file), "");
  EXPECT_EQ(file.spec.train.epochs, 3);
}

TEST(JobFile, BadOverridesAreShownAsTheUserWroteThem) {
  const JobFile file = Parse(With(""), {{"train.epochs=x", "--set train.epochs=x"},
                                        {"train.epoch=1", "--set train.epoch=1"},
                                        {"workers.min=0", "--workers 0"},
                                        {"train.batch_size=0", "--set train.batch_size=0"}});
  EXPECT_EQ(Shown(file),
            "--set train.epochs=x: error: spec.train.epochs: expected a whole number, got \"x\"\n"
            "       = the default is 5; `ggctl explain spec.train.epochs` says more\n"
            "--set train.epoch=1: error: unknown field \"train.epoch\"; did you mean "
            "\"spec.train.epochs\"?\n"
            "--set train.batch_size=0: error: spec.train.batch_size: must satisfy 1 <= value <= "
            "1048576, got 0\n"
            "       = the default is 64; `ggctl explain spec.train.batch_size` says more\n"
            "--workers 0: error: spec.workers.min: must satisfy 1 <= value <= 4096, got 0\n"
            "       = the default is 1; `ggctl explain spec.workers.min` says more\n");
}

TEST(JobFile, WarningsDoNotStopTheJob) {
  const JobFile file =
      Parse(With("  exchange: {payload: gradients}\n  workers: {min: 2, max: 2}\n"));
  EXPECT_TRUE(file.ok()) << Shown(file);
  ASSERT_THAT(file.warnings, SizeIs(1));
  EXPECT_EQ(file.warnings[0].position, (Position{6, 23}));
  EXPECT_THAT(FormatProblem(file.warnings[0], file.text, false),
              HasSubstr("job.yaml:6:23: warning: spec.exchange.payload"));
}

TEST(JobFile, TakesAByteOrderMarkAndWindowsLineEnds) {
  std::string text = "\xEF\xBB\xBF" + With("");
  for (size_t i = 0; (i = text.find('\n', i)) != std::string::npos; i += 2) text.insert(i, "\r");
  EXPECT_EQ(Shown(Parse(text)), "");
}

TEST(FormatProblem, ShowsTheSurroundingsOfAPlaceFarToTheRight) {
  const std::string text = std::string(500, 'a') + "X" + std::string(500, 'b');
  Problem problem;
  problem.source = "f";
  problem.position = {1, 501};
  problem.message = "m";
  EXPECT_EQ(FormatProblem(problem, text, false),
            "f:1:501: error: m\n     1 | " + std::string(50, 'a') + "X" + std::string(49, 'b') +
                "\n       | " + std::string(50, ' ') + "^\n");
}

TEST(ReadJobFile, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(ReadJobFile("/nonexistent/job.yaml").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadJobFile("/").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gg
