// SPDX-License-Identifier: Apache-2.0
// `ggctl local run` with daemons that misbehave on order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ggctl/cli.h"
#include "ggctl/cluster/local_cluster.h"
#include "ggctl/cluster/temp_folder.h"

namespace gg {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LocalRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "gg-local-run-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    for (const char* name : {"gg-coordinator", "gg-worker"}) {
      std::filesystem::create_symlink(GG_FAKE_DAEMON, folder_ / name);
    }
    std::filesystem::create_directory(folder_ / "tmp");
    const char* old = getenv("TMPDIR");
    if (old != nullptr) old_temp_ = old;
    setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    setenv("GG_FAKE_PIDS", (folder_ / "pids").c_str(), 1);
    setenv("GG_FAKE_SCENARIO", "hold", 1);
    setenv("GG_FAKE_WORKER", "", 1);
  }
  void TearDown() override {
    // Whatever the outcome: no process and no file is left.
    for (const pid_t pid : Pids()) EXPECT_NE(kill(pid, 0), 0) << "process " << pid << " is left";
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp"));
    std::filesystem::remove_all(folder_);
    if (old_temp_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", old_temp_.c_str(), 1);
    }
  }

  std::vector<pid_t> Pids() const {
    std::vector<pid_t> pids;
    std::ifstream in(folder_ / "pids");
    for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
    return pids;
  }

  int Ggctl(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "local",     "run",  "-f",        GG_EXAMPLES "/fashion-mlp.yaml",
        "--workers", "2",    "--bin-dir", folder_.string(),
        "--color",   "never"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunGgctl(arguments, out_, err_);
  }

  int Compare(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"compare",
                                          "-f",
                                          GG_EXAMPLES "/fashion-mlp.yaml",
                                          "--algorithms",
                                          "gossip-grad,none",
                                          "--workers",
                                          "2",
                                          "--bin-dir",
                                          folder_.string(),
                                          "--color",
                                          "never",
                                          "-o",
                                          "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunGgctl(arguments, out_, err_);
  }

  std::filesystem::path folder_;
  std::string old_temp_;
  std::ostringstream out_, err_;
};

TEST_F(LocalRunTest, PrintsTheOutcomeAsOneObject) {
  setenv("GG_FAKE_SCENARIO", "succeed", 1);
  ASSERT_EQ(Ggctl({"-o", "json"}), 0) << err_.str();
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["state"], "Succeeded");
  EXPECT_EQ(json["workers"], 2);
  EXPECT_EQ(json["steps"], 938);
  EXPECT_EQ(json["epochs"], 10);
  EXPECT_EQ(json["test_accuracy"], 0.9034);
  EXPECT_EQ(json["replica_accuracy"], (std::vector<double>{0.9012, 0.9021}));
  EXPECT_EQ(json["train_loss"], (std::vector<double>{0.6, 0.2125}));
  EXPECT_EQ(json["model_checksum"], "0123456789abcdef");
  for (const char* key :
       {"samples_per_second", "sent_bytes_per_step", "messages_per_step", "comm_wait_ratio",
        "consensus_distance", "skipped_exchanges", "train_seconds", "wall_seconds"}) {
    EXPECT_TRUE(json[key].is_number()) << key;
  }
  EXPECT_EQ(Pids().size(), 3u);
}

TEST_F(LocalRunTest, PrintsAShortTable) {
  setenv("GG_FAKE_SCENARIO", "succeed", 1);
  ASSERT_EQ(Ggctl(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("test accuracy  90.34% (averaged model)"));
}

TEST_F(LocalRunTest, ABadJobFileStartsNothing) {
  EXPECT_EQ(Ggctl({"--set", "train.epochs=0"}), 2);
  EXPECT_THAT(Pids(), IsEmpty());
}

TEST_F(LocalRunTest, DamagedDataEndsWithTwo) {
  setenv("GG_FAKE_SCENARIO", "bad data", 1);
  EXPECT_EQ(Ggctl({"-o", "json"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("train-labels-idx1-ubyte: bad magic"));
  EXPECT_EQ(nlohmann::json::parse(out_.str())["state"], "Failed");
}

TEST_F(LocalRunTest, AKilledWorkerIsNamedWithItsLastWords) {
  setenv("GG_FAKE_WORKER", "killed", 1);
  EXPECT_EQ(Ggctl({"-o", "json"}), 8);
  EXPECT_THAT(err_.str(),
              ContainsRegex("worker-1 \\(pid [0-9]+\\) was killed by signal 9 \\(Killed\\)"));
  EXPECT_THAT(err_.str(), HasSubstr("  | worker-1 speaks"));
  EXPECT_THAT(nlohmann::json::parse(out_.str())["culprit"].get<std::string>(),
              HasSubstr("worker-1"));
}

TEST_F(LocalRunTest, AWorkerThatExitsIsNamedWithItsCode) {
  setenv("GG_FAKE_WORKER", "exit", 1);
  EXPECT_EQ(Ggctl(), 8);
  EXPECT_THAT(err_.str(), ContainsRegex("worker-1 \\(pid [0-9]+\\) exited with code 78"));
}

TEST_F(LocalRunTest, AKilledCoordinatorEndsWithUnavailable) {
  setenv("GG_FAKE_SCENARIO", "die", 1);
  EXPECT_EQ(Ggctl(), 7);
  EXPECT_THAT(err_.str(), ContainsRegex("the coordinator \\(pid [0-9]+\\) was killed by signal 9"));
}

TEST_F(LocalRunTest, AFrozenCoordinatorIsReportedAndKilled) {
  setenv("GG_FAKE_SCENARIO", "freeze", 1);
  EXPECT_EQ(Ggctl({"-o", "json"}), 7);
  EXPECT_THAT(err_.str(), ContainsRegex("the coordinator \\(pid [0-9]+\\) does not answer"));
  EXPECT_THAT(nlohmann::json::parse(out_.str())["culprit"].get<std::string>(),
              HasSubstr("does not answer"));
}

TEST_F(LocalRunTest, ACoordinatorToldToEndIsTheCulprit) {
  setenv("GG_FAKE_SCENARIO", "terminated", 1);
  EXPECT_EQ(Ggctl(), 7);
  EXPECT_THAT(err_.str(), ContainsRegex("the coordinator \\(pid [0-9]+\\) exited with code 0"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("CANCELLED")));
}

TEST_F(LocalRunTest, AQuitSignalStopsEverything) {
  setenv("GG_FAKE_SCENARIO", "quit", 1);
  EXPECT_EQ(Ggctl(), 130);
}

TEST_F(LocalRunTest, TheNumberOfWorkersIsGivenInOnePlace) {
  EXPECT_EQ(Ggctl({"--set", "workers.max=3"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("both set the number of workers"));
  EXPECT_THAT(Pids(), IsEmpty());
}

TEST_F(LocalRunTest, ACoordinatorThatDoesNotStartIsShown) {
  setenv("GG_FAKE_SCENARIO", "no start", 1);
  EXPECT_EQ(Ggctl(), 7);
  EXPECT_THAT(err_.str(), HasSubstr("exited with code 70"));
  EXPECT_THAT(err_.str(), HasSubstr("  | cannot open the store"));
}

TEST_F(LocalRunTest, ARefusedJobStopsEverything) {
  setenv("GG_FAKE_SCENARIO", "refuse", 1);
  EXPECT_EQ(Ggctl(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("not this one"));
}

TEST_F(LocalRunTest, CtrlCStopsEverything) {
  setenv("GG_FAKE_SCENARIO", "interrupt", 1);
  EXPECT_EQ(Ggctl({"-o", "json"}), 130);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["state"], "Cancelled");
}

TEST_F(LocalRunTest, ProcessesThatIgnoreTheRequestToEndAreKilled) {
  setenv("GG_FAKE_SCENARIO", "succeed", 1);
  setenv("GG_FAKE_WORKER", "deaf", 1);
  EXPECT_EQ(Ggctl(), 0) << err_.str();
}

TEST_F(LocalRunTest, MissingProgramsAreNamed) {
  std::filesystem::remove(folder_ / "gg-worker");
  EXPECT_EQ(Ggctl(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("cannot find gg-worker in " + folder_.string()));
  EXPECT_THAT(Pids(), IsEmpty());
}

TEST_F(LocalRunTest, LogsAreKeptOnRequest) {
  setenv("GG_FAKE_SCENARIO", "succeed", 1);
  EXPECT_EQ(Ggctl({"--log-dir", (folder_ / "logs").string()}), 0);
  EXPECT_THAT(LogTail((folder_ / "logs/worker-1.log").string(), 5),
              ::testing::ElementsAre("worker-1 speaks"));
}

TEST_F(LocalRunTest, FoldersOfKilledRunsAreRemovedAndNoOthers) {
  const std::string parent = (folder_ / "tmp").string();
  const auto exists = [](const std::string& path) { return std::filesystem::exists(path); };
  auto living = TempFolder::Make(parent);
  auto kept = TempFolder::Make(parent);
  ASSERT_TRUE(living.ok() && kept.ok());
  const std::string kept_path = (*kept)->path();
  (*kept)->Keep();
  kept->reset();
  // A copy: without the lock that the owner holds, as after its death.
  const std::string left = parent + "/ggctl-killed";
  std::filesystem::copy((*living)->path(), left, std::filesystem::copy_options::recursive);
  std::ofstream(left + "/store.db") << "data";
  // What only looks like one: without a lock file, a link to an abandoned one, another name.
  const std::string no_lock = parent + "/ggctl-abcdef", link = parent + "/ggctl-linked";
  const std::string other = parent + "/ggctl-keep-this";
  std::filesystem::create_directory(no_lock);
  std::filesystem::create_directory(other);
  std::ofstream(other + "/lock") << "";
  std::filesystem::create_directory_symlink(other, link);

  EXPECT_EQ(TempFolder::RemoveAbandoned(parent), 1);
  EXPECT_FALSE(exists(left));
  for (const std::string& path : {(*living)->path(), kept_path, no_lock, link, other + "/lock"})
    EXPECT_TRUE(exists(path)) << path;
  for (const std::string& path : {kept_path, no_lock, link, other})
    std::filesystem::remove_all(path);
}

TEST_F(LocalRunTest, AnAbandonedFolderGoesWithTheNextRun) {
  setenv("GG_FAKE_SCENARIO", "succeed", 1);
  const std::string abandoned = (folder_ / "tmp" / "ggctl-killed").string();
  std::filesystem::create_directory(abandoned);
  std::ofstream(abandoned + "/lock") << "";
  EXPECT_EQ(Ggctl(), 0) << err_.str();
  EXPECT_FALSE(std::filesystem::exists(abandoned));
}

TEST_F(LocalRunTest, CompareRunsEveryMethodWithEverySeed) {
  setenv("GG_FAKE_SCENARIO", "succeed", 1);
  const std::string file = (folder_ / "result.json").string();
  ASSERT_EQ(Compare({"--seeds", "2", "--out", file}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("run 4 of 4: none, seed 2"));
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in);
  ASSERT_EQ(json["results"].size(), 4u);
  EXPECT_EQ(json["results"][1]["label"], "none");
  EXPECT_EQ(json["results"][2]["seed"], 2);
  EXPECT_EQ(json["summary"][0]["test_accuracy"]["count"], 2);
}

TEST_F(LocalRunTest, CompareGoesOnAfterARunThatFailed) {
  setenv("GG_FAKE_WORKER", "killed", 1);
  EXPECT_EQ(Compare(), 8);
  const auto json = nlohmann::json::parse(out_.str());
  ASSERT_EQ(json["results"].size(), 2u);
  for (const auto& run : json["results"]) {
    EXPECT_EQ(run["state"], "Failed");
    EXPECT_THAT(run["reason"].get<std::string>(), HasSubstr("worker-1"));
  }
}

TEST_F(LocalRunTest, AComparisonWithoutResultsReplacesNone) {
  const std::string file = (folder_ / "result.json").string();
  std::ofstream(file) << "of yesterday";
  const auto content = [&] {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  setenv("GG_FAKE_SCENARIO", "refuse", 1);
  EXPECT_EQ(Compare({"--out", file}), 2);
  EXPECT_EQ(content(), "of yesterday");
  EXPECT_EQ(nlohmann::json::parse(out_.str())["results"].size(), 2u);
  EXPECT_THAT(err_.str(), HasSubstr("no run succeeded: " + file + " is left as it was"));
  // Where nothing was lost the failures are in the file, as asked.
  std::filesystem::remove(file);
  out_.str("");
  EXPECT_EQ(Compare({"--out", file}), 2);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(nlohmann::json::parse(content())["results"].size(), 2u);
}

TEST_F(LocalRunTest, CompareGivesTheWorkersTheirPlaces) {
  setenv("GG_FAKE_SCENARIO", "succeed", 1);
  setenv("GG_FAKE_PLACES", (folder_ / "places").c_str(), 1);
  EXPECT_EQ(Compare({"--topology", "rack=a,b"}), 0) << err_.str();
  unsetenv("GG_FAKE_PLACES");
  std::ifstream in(folder_ / "places");
  std::set<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  EXPECT_THAT(lines, ElementsAre("worker-0 rack=a", "worker-1 rack=b"));
}

TEST_F(LocalRunTest, CtrlCEndsAComparisonWithWhatThereIs) {
  setenv("GG_FAKE_SCENARIO", "interrupt", 1);
  EXPECT_EQ(Compare(), 130);
  const auto json = nlohmann::json::parse(out_.str());
  ASSERT_EQ(json["results"].size(), 1u);
  EXPECT_EQ(json["results"][0]["state"], "Cancelled");
}

TEST(LogTail, ReadsNoMoreThanTheEnd) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("gg-tail-" + std::to_string(getpid()))).string();
  {
    std::ofstream out(path);
    for (int i = 0; i < 100000; ++i) out << "line " << i << "\n";
  }
  EXPECT_THAT(LogTail(path, 2), ::testing::ElementsAre("line 99998", "line 99999"));
  EXPECT_THAT(LogTail(path + ".not", 2), IsEmpty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace gg
