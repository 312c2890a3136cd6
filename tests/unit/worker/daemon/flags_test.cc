// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace gg {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<WorkerFlags> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "gg-worker");
  return ParseWorkerFlags(static_cast<int>(arguments.size()), arguments.data());
}

TEST(WorkerFlags, DefaultsAreSafeAndComplete) {
  const auto flags = Parse({"--coordinator", "h:1"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->coordinator, "h:1");
  EXPECT_EQ(flags->listen, "127.0.0.1:0");
  EXPECT_EQ(flags->http_listen, "127.0.0.1:0");
  EXPECT_GE(flags->threads, 1);
  EXPECT_EQ(flags->coordinator_timeout, absl::Seconds(30));
  EXPECT_NE(flags->worker_id, Parse({"--coordinator", "h:1"})->worker_id);  // two on one host
}

TEST(WorkerFlags, AWorkerIdThatIsNoNameIsRefused) {
  const auto flags = Parse({"--coordinator", "h:1", "--worker-id", "a b"});
  EXPECT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(flags.status().message().find("--worker-id"), absl::string_view::npos);
}

TEST(WorkerFlags, EveryFlagIsRead) {
  const auto flags = Parse({"--coordinator",
                            "h:1",
                            "--worker-id",
                            "w7",
                            "--listen",
                            "0.0.0.0:7000",
                            "--advertise-host",
                            "10.0.0.7",
                            "--http-listen",
                            "[::]:9000",
                            "--threads",
                            "3",
                            "--device",
                            "reference",
                            "--port-file",
                            "/p",
                            "--coordinator-timeout-seconds",
                            "2.5",
                            "--log-format",
                            "json",
                            "--log-level",
                            "debug",
                            "--topology",
                            "rack=3",
                            "--topology",
                            "row=b",
                            "--insecure"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->worker_id, "w7");
  EXPECT_EQ(flags->listen, "0.0.0.0:7000");
  EXPECT_EQ(flags->advertise_host, "10.0.0.7");
  EXPECT_EQ(flags->http_listen, "[::]:9000");
  EXPECT_EQ(flags->threads, 3);
  EXPECT_EQ(flags->device, "reference");
  EXPECT_EQ(flags->port_file, "/p");
  EXPECT_EQ(flags->topology, (std::map<std::string, std::string>{{"rack", "3"}, {"row", "b"}}));
  EXPECT_EQ(flags->coordinator_timeout, absl::Seconds(2.5));
  EXPECT_EQ(flags->log_format, LogFormat::kJson);
  EXPECT_EQ(flags->log_level, LogLevel::kDebug);
}

TEST(WorkerFlags, ListeningBeyondThisMachineNeedsAnExplicitWord) {
  for (const char* open : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "myhost:1"}) {
    for (const char* flag : {"--listen", "--http-listen"}) {
      const auto refused = Parse({"--coordinator", "h:1", flag, open});
      EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << flag << open;
      EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--insecure"));
    }
  }
  for (const char* closed : {"127.0.0.1:1", "127.0.0.2:0", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(Parse({"--coordinator", "h:1", "--listen", closed}).ok()) << closed;
  }
}

TEST(WorkerFlags, MistakesAreNamed) {
  const auto message = [](std::vector<const char*> arguments) {
    const auto flags = Parse(std::move(arguments));
    EXPECT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(flags.status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("--coordinator"));
  EXPECT_THAT(message({"--coordinator", "h:1", "--treads", "3"}), HasSubstr("--treads"));
  EXPECT_THAT(message({"--coordinator", "h:1", "--threads", "many"}), HasSubstr("--threads"));
  EXPECT_THAT(message({"--coordinator", "h:1", "--threads", "-1"}), HasSubstr("--threads"));
  EXPECT_THAT(message({"--coordinator", "h:1", "--log-level", "loud"}), HasSubstr("loud"));
  EXPECT_THAT(message({"--coordinator", "h:1", "--log-format", "xml"}), HasSubstr("xml"));
  EXPECT_THAT(message({"--coordinator"}), HasSubstr("--coordinator"));
  for (const char* address : {"localhost", "localhost:", ":1", "h:0", "h:99999", "h:x", "::1:7"}) {
    EXPECT_THAT(message({"--coordinator", address}), HasSubstr("--coordinator")) << address;
  }
}

TEST(WorkerFlags, QuestionsAreAnsweredWithoutACoordinator) {
  EXPECT_THAT(Parse({"--help"})->print_and_exit, HasSubstr("--worker-id"));
  EXPECT_THAT(Parse({"--version"})->print_and_exit, HasSubstr("gg-worker "));
  EXPECT_THAT(Parse({"--print-metrics-markdown"})->print_and_exit,
              HasSubstr("gossipgrad_steps_total"));
}

}  // namespace
}  // namespace gg
