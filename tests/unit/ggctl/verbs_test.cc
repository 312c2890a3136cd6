// SPDX-License-Identifier: Apache-2.0
// The verbs that talk to a coordinator, against a fake one in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ggctl/cli.h"
#include "tests/unit/ggctl/fake_job_service.h"
#include "tests/unit/ggctl/golden.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class VerbsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Before gRPC makes its threads: the test of Ctrl-C must not end this process.
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
  }
  void SetUp() override { server_ = fake_.Start("127.0.0.1:0"); }

  int Ggctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server_, "--color", "never"});
    out_.str("");
    err_.str("");
    return RunGgctl(arguments, out_, err_);
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  FakeJobService fake_;
  std::string server_;
  std::ostringstream out_, err_;
  const std::string job_file_ = GG_EXAMPLES "/fashion-mlp.yaml";
};

TEST_F(VerbsTest, GetJobsAsJsonIsStable) {
  fake_.AddJob(RunningJob("one"));
  fake_.AddJob(FinishedJob("two"));
  EXPECT_EQ(Ggctl({"get", "jobs", "-o", "json"}), 0) << err();
  ExpectGolden(GG_TESTDATA "/get-jobs.json", out());
}

TEST_F(VerbsTest, GetJobsAsYamlIsStable) {
  fake_.AddJob(FinishedJob("two"));
  EXPECT_EQ(Ggctl({"get", "jobs", "-o", "yaml"}), 0) << err();
  ExpectGolden(GG_TESTDATA "/get-jobs.yaml", out());
}

TEST_F(VerbsTest, GetJobsAsATableHasOneWordPerCell) {
  v1::Job job = RunningJob("one");
  job.clear_created();
  fake_.AddJob(job);
  EXPECT_EQ(Ggctl({"get", "jobs"}), 0);
  EXPECT_EQ(out(),
            "NAME  STATE    WORKERS  EPOCH   STEP     LOSS    ACCURACY  AGE\n"
            "one   Running  2/2      4.5/10  421/938  0.3241  88.1%     <unknown>\n");
  EXPECT_EQ(Ggctl({"get", "jobs", "-o", "name"}), 0);
  EXPECT_EQ(out(), "job/one\n");
  EXPECT_EQ(Ggctl({"get", "job", "one", "-o", "wide"}), 0);
  EXPECT_THAT(out(), HasSubstr("weights  5120       3.1%     1m12s  j-one  <unknown>\n"));
}

TEST_F(VerbsTest, NothingThereIsSaidOnStandardErrorOnly) {
  EXPECT_EQ(Ggctl({"get", "jobs"}), 0);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "no jobs\n");
  EXPECT_EQ(Ggctl({"get", "jobs", "-o", "json"}), 0);
  EXPECT_THAT(nlohmann::json::parse(out())["items"], IsEmpty());
}

TEST_F(VerbsTest, GetWorkersListsThem) {
  v1::WorkerStatus worker = RunningJob("one").workers(1);
  fake_.workers = {worker};
  EXPECT_EQ(Ggctl({"get", "workers", "-o", "wide"}), 0);
  EXPECT_EQ(out(),
            "NAME      STATE    JOB  RANK  STEP  SAMPLES/S  EXPOSED  SKIPPED  HOST  TOPOLOGY  PID  "
            "ADDRESS   "
            "   TRANSPORT           "
            "DEVICE     HEARTBEAT\n"
            "worker-1  running  one  1     421   2560       0.0%     0        host  rack=1    101  "
            "127.0.0.1:1  gRPC-over-loopback  "
            "reference  <unknown>\n");
  EXPECT_EQ(Ggctl({"get", "workers", "worker-7"}), 4);
}

TEST_F(VerbsTest, WorkersAreSortedByNameWithNumbersAsNumbers) {
  for (const char* name : {"worker-10", "worker-2", "b", "worker-1"})
    fake_.workers.emplace_back().set_worker_id(name);
  EXPECT_EQ(Ggctl({"get", "workers", "-o", "name"}), 0);
  EXPECT_EQ(out(), "worker/b\nworker/worker-1\nworker/worker-2\nworker/worker-10\n");
  EXPECT_EQ(Ggctl({"get", "workers", "worker-10", "b", "-o", "name"}), 0);
  EXPECT_EQ(out(), "worker/worker-10\nworker/b\n");
  EXPECT_EQ(Ggctl({"get", "workers", "worker-11"}), 4);
  EXPECT_THAT(err(), HasSubstr("worker \"worker-11\" not found; did you mean"));
}

TEST_F(VerbsTest, JobsAreListedInTheOrderOfSubmission) {
  for (const auto& [name, seconds] : {std::pair{"new", 300}, std::pair{"old", 100}}) {
    v1::Job job = RunningJob(name);
    job.mutable_created()->set_seconds(seconds);
    fake_.AddJob(job);
  }
  EXPECT_EQ(Ggctl({"get", "jobs", "-o", "name"}), 0);
  EXPECT_EQ(out(), "job/old\njob/new\n");
  EXPECT_EQ(Ggctl({"get", "jobs", "--no-headers"}), 0);
  EXPECT_THAT(out(), StartsWith("old "));
}

TEST_F(VerbsTest, JobsAreSelectedByStateAndLabels) {
  v1::Job job = RunningJob("a");
  (*job.mutable_spec()->mutable_labels())["team"] = "vision";
  fake_.AddJob(job);
  fake_.AddJob(FinishedJob("b"));
  const auto selected = [&](const char* option, const char* value) {
    EXPECT_EQ(Ggctl({"get", "jobs", "-o", "name", option, value}), 0) << err();
    return out();
  };
  EXPECT_EQ(selected("--state", "running"), "job/a\n");
  EXPECT_EQ(selected("--state", "Succeeded"), "job/b\n");
  EXPECT_EQ(selected("-l", "team=vision"), "job/a\n");
  EXPECT_EQ(selected("-l", "team==vision, team"), "job/a\n");
  EXPECT_EQ(selected("-l", "team!=vision"), "job/b\n");
  EXPECT_EQ(selected("-l", "!team"), "job/b\n");
  EXPECT_EQ(selected("-l", "team,!team"), "");
}

TEST_F(VerbsTest, DescribeShowsTheSameInEachForm) {
  fake_.AddJob(FinishedJob("two"));
  EXPECT_EQ(Ggctl({"describe", "job/two", "-o", "json"}), 0);
  const auto json = nlohmann::json::parse(out());
  ExpectGolden(GG_TESTDATA "/describe.json", out());
  EXPECT_EQ(Ggctl({"describe", "job", "two", "-o", "yaml"}), 0);
  EXPECT_THAT(out(), HasSubstr("  name: two\n"));
  EXPECT_EQ(Ggctl({"describe", "job", "two", "-o", "wide"}), 0);
  EXPECT_THAT(out(), HasSubstr("ADDRESS"));
  EXPECT_THAT(out(), HasSubstr("PHASE"));
  EXPECT_THAT(out(), HasSubstr(json["status"]["workers"][0]["address"].get<std::string>()));
}

TEST_F(VerbsTest, DescribeShowsTheWholeJob) {
  fake_.AddJob(FinishedJob("two"));
  EXPECT_EQ(Ggctl({"describe", "job", "two"}), 0);
  ExpectGolden(GG_TESTDATA "/describe.txt", out());
}

TEST_F(VerbsTest, AnUnknownJobGetsASuggestion) {
  fake_.AddJob(RunningJob("fashion-lenet"));
  EXPECT_EQ(Ggctl({"describe", "job", "fashion-lente"}), 4);
  EXPECT_EQ(err(), "error: job \"fashion-lente\" not found; did you mean \"fashion-lenet\"?\n");
  EXPECT_EQ(Ggctl({"cancel", "nothing-like-it"}), 4);
  EXPECT_THAT(err(), HasSubstr("`ggctl get jobs` lists them"));
  EXPECT_EQ(Ggctl({"watch", "fashion-lent"}), 4);
  EXPECT_THAT(err(), HasSubstr("did you mean \"fashion-lenet\"?"));
}

TEST_F(VerbsTest, SubmitSendsTheWholeSpecWithARequestId) {
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "--set", "train.epochs=3"}), 0) << err();
  EXPECT_EQ(out(), "job/fashion-mlp submitted\n");
  EXPECT_THAT(err(), HasSubstr("ggctl watch fashion-mlp"));
  ASSERT_THAT(fake_.submits(), SizeIs(1));
  EXPECT_EQ(fake_.submits()[0].spec().train().epochs(), 3);
  EXPECT_THAT(fake_.submits()[0].request_id(), SizeIs(32));
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "-o", "name"}), 0);
  EXPECT_EQ(out(), "job/fashion-mlp\n");
  EXPECT_EQ(err(), "");
  EXPECT_NE(fake_.submits()[0].request_id(), fake_.submits()[1].request_id());
}

TEST_F(VerbsTest, ADryRunKeepsNothing) {
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "--dry-run", "server"}), 0);
  EXPECT_TRUE(fake_.submits()[0].validate_only());
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "--dry-run", "server", "-o", "yaml"}), 0);
  EXPECT_THAT(out(), StartsWith("apiVersion: "));
}

TEST_F(VerbsTest, ViolationsOfTheServerAreShownAsFieldPaths) {
  fake_.submit_status = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "2 problems");
  for (const char* field : {"spec.exchange.schedule", "spec.data.path"}) {
    auto* violation = fake_.violations.add_violations();
    violation->set_field(field);
    violation->set_description("is wrong");
  }
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_}), 2);
  EXPECT_EQ(err(),
            "error: the coordinator refused the job:\n"
            "  spec.exchange.schedule: is wrong\n"
            "  spec.data.path: is wrong\n");
  EXPECT_EQ(out(), "");
}

struct CodePair {
  grpc::StatusCode code;
  int exit;
};
class ExitCodesTest : public VerbsTest, public ::testing::WithParamInterface<CodePair> {};

TEST_P(ExitCodesTest, FollowTheStatusOfTheServer) {
  fake_.submit_status = grpc::Status(GetParam().code, "because");
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_}), GetParam().exit);
  EXPECT_THAT(err(), HasSubstr("because"));
}

INSTANTIATE_TEST_SUITE_P(, ExitCodesTest,
                         ::testing::Values(CodePair{grpc::StatusCode::ALREADY_EXISTS, 5},
                                           CodePair{grpc::StatusCode::FAILED_PRECONDITION, 5},
                                           CodePair{grpc::StatusCode::PERMISSION_DENIED, 6},
                                           CodePair{grpc::StatusCode::UNAUTHENTICATED, 6},
                                           CodePair{grpc::StatusCode::INVALID_ARGUMENT, 2},
                                           CodePair{grpc::StatusCode::INTERNAL, 1},
                                           CodePair{grpc::StatusCode::RESOURCE_EXHAUSTED, 1}));

TEST_F(VerbsTest, AServerThatIsThereIsNotCalledUnreachable) {
  fake_.submit_status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the store's disk is full");
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_}), 7);
  EXPECT_EQ(err(), "error: the store's disk is full\n");
}

TEST_F(VerbsTest, TheBareNameOfACodeIsNoMessage) {
  fake_.submit_status = grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED");
  Ggctl({"submit", "-f", job_file_});
  EXPECT_THAT(err(), HasSubstr("ended the call without a reason; it may be shutting down"));
}

TEST_F(VerbsTest, ControlCharactersOfOthersStayOffTheTerminal) {
  v1::Job job = FinishedJob("two");
  job.set_reason("bad\x1b[2J\nfaked: line");
  job.mutable_events(0)->set_message("\x1b]0;title\x07");
  job.mutable_conditions(0)->set_message("\xC2\x9B 31m");
  job.mutable_workers(0)->set_worker_id("w\x1b[1m");
  fake_.AddJob(job);
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"describe", "job", "two"}, {"get", "jobs", "-o", "wide"}, {"watch", "two"}}) {
    fake_.watch = {job};
    Ggctl(verb);
    for (const std::string& text : {out(), err()}) {
      EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << verb[0];
      EXPECT_THAT(text, Not(HasSubstr("\x07"))) << verb[0];
      EXPECT_THAT(text, Not(HasSubstr("\xC2\x9B"))) << verb[0];
      EXPECT_THAT(text, Not(HasSubstr("\nfaked"))) << verb[0];
    }
  }
}

// A disk that is full.
class FullBuffer : public std::streambuf {};

TEST_F(VerbsTest, LostOutputIsAFailure) {
  fake_.AddJob(RunningJob("one"));
  FullBuffer full;
  for (const char* form : {"wide", "json", "name"}) {
    std::ostream out(&full);
    std::ostringstream err;
    EXPECT_EQ(RunGgctl({"get", "jobs", "-o", form, "--server", server_}, out, err), 1);
    EXPECT_THAT(err.str(), HasSubstr("standard output could not be written"));
  }
}

TEST_F(VerbsTest, WatchShowsALinePerChangeAndTheSummary) {
  fake_.AddJob(RunningJob("two"));
  fake_.watch = {RunningJob("two"), FinishedJob("two")};
  EXPECT_EQ(Ggctl({"watch", "two"}), 0) << err();
  EXPECT_THAT(err(), HasSubstr("two: Succeeded"));
  EXPECT_THAT(err(), Not(HasSubstr("\x1b")));
  ExpectGolden(GG_TESTDATA "/summary.txt", out());
  EXPECT_EQ(Ggctl({"watch", "job/two", "-o", "json"}), 0) << err();
  EXPECT_EQ(nlohmann::json::parse(out())["status"]["state"], "Succeeded");
}

TEST_F(VerbsTest, WaitEndsWithTheOutcome) {
  v1::Job failed = RunningJob("two");
  failed.set_state(v1::JOB_STATE_FAILED);
  failed.set_reason("worker-1 was lost");
  fake_.watch = {failed};
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "--wait"}), 8);
  EXPECT_THAT(out(), HasSubstr("worker-1 was lost"));
  fake_.watch.back().set_failure_code(static_cast<int>(grpc::StatusCode::DATA_LOSS));
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "--wait"}), 2);
  fake_.watch.back().set_failure_code(static_cast<int>(grpc::StatusCode::PERMISSION_DENIED));
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "--wait"}), 2);
  fake_.watch.back().set_state(v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "--wait", "-o", "json"}), 9);
  EXPECT_EQ(nlohmann::json::parse(out())["status"]["state"], "Cancelled");
}

TEST_F(VerbsTest, AWaitThatTakesTooLongLeavesTheJobAlone) {
  fake_.watch = {RunningJob("fashion-mlp")};
  fake_.after_watch = [](grpc::ServerContext* context) {
    while (!context->IsCancelled()) std::this_thread::yield();
  };
  EXPECT_EQ(Ggctl({"submit", "-f", job_file_, "--wait", "--timeout", "0.1"}), 124);
  EXPECT_THAT(err(), HasSubstr("ggctl cancel"));
  EXPECT_THAT(fake_.cancels(), IsEmpty());
}

TEST_F(VerbsTest, CtrlCDetachesAndSaysHowToCancel) {
  fake_.AddJob(RunningJob("two"));
  fake_.watch = {RunningJob("two")};
  fake_.after_watch = [](grpc::ServerContext* context) {
    kill(getpid(), SIGINT);  // all threads of ours block it; ggctl reads it from its descriptor
    while (!context->IsCancelled()) std::this_thread::yield();
  };
  EXPECT_EQ(Ggctl({"watch", "two"}), 130);
  EXPECT_THAT(err(), HasSubstr("job/two goes on"));
  EXPECT_THAT(err(), HasSubstr("ggctl cancel two"));
  EXPECT_THAT(fake_.cancels(), IsEmpty());
}

TEST_F(VerbsTest, CancelStopsARunningJobOnly) {
  fake_.AddJob(RunningJob("one"));
  EXPECT_EQ(Ggctl({"cancel", "one", "--reason", "enough"}), 0);
  EXPECT_EQ(out(), "job/one cancelled\n");
  ASSERT_THAT(fake_.cancels(), SizeIs(1));
  EXPECT_EQ(fake_.cancels()[0].reason(), "enough");
  EXPECT_EQ(Ggctl({"cancel", "one"}), 0);
  EXPECT_THAT(err(), HasSubstr("is over already"));
  EXPECT_THAT(fake_.cancels(), SizeIs(1));
  EXPECT_EQ(Ggctl({"cancel", "job/one", "--error-unchanged", "-o", "json"}), 3);
  EXPECT_EQ(nlohmann::json::parse(out())["metadata"]["name"], "one");
}

TEST_F(VerbsTest, VersionWarnsOfAnotherProtocol) {
  EXPECT_EQ(Ggctl({"version"}), 0);
  EXPECT_THAT(out(), HasSubstr("server  9.8.7  up 1h01m"));
  EXPECT_THAT(err(), StartsWith("warning: ggctl speaks protocol"));
  EXPECT_EQ(Ggctl({"version", "--client", "-o", "json"}), 0);
  EXPECT_FALSE(nlohmann::json::parse(out()).contains("server"));
  EXPECT_EQ(Ggctl({"version", "-o", "wide"}), 0);
  EXPECT_THAT(out(), HasSubstr("  at " + server_ + "  id "));
  EXPECT_EQ(Ggctl({"version", "-o", "json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out())["server"]["version"], "9.8.7");
}

TEST(WithoutACoordinator, EachVerbEndsWithUnavailable) {
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"get", "jobs"}, {"watch", "x"}, {"cancel", "x"}, {"version"}}) {
    std::ostringstream out, err;
    std::vector<std::string> arguments = verb;
    // Port 1 of loopback: nobody listens, and nobody may without root.
    arguments.insert(arguments.end(), {"--server", "127.0.0.1:1", "--request-timeout", "1s"});
    EXPECT_EQ(RunGgctl(arguments, out, err), 7) << verb[0];
    EXPECT_THAT(err.str(), HasSubstr("cannot reach the coordinator at 127.0.0.1:1"));
  }
}

}  // namespace
}  // namespace gg
