// SPDX-License-Identifier: Apache-2.0
// What gRPC itself has to say: provoked by asking for a port that is taken.
#include "telemetry/grpc/grpc_log.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/sync.h"
#include "nlohmann/json.hpp"

namespace gg {
namespace {

// gRPC refuses the second of two servers on one port and says why.
void Provoke() {
  int port = 0;
  grpc::ServerBuilder first;
  first.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  first.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto server = first.BuildAndStart();
  ASSERT_NE(server, nullptr);
  grpc::ServerBuilder second;
  second.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  int none = 0;
  second.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(),
                          &none);
  EXPECT_EQ(second.BuildAndStart(), nullptr);
  server->Shutdown();
}

class Lines {
 public:
  std::unique_ptr<Logger> MakeLog(LogFormat format) {
    LoggerOptions options;
    options.component = "gg-test";
    options.format = format;
    options.write = [this](absl::string_view line) {
      MutexLock lock(&mu_);
      lines_.emplace_back(line);
    };
    return MakeLogger(std::move(options));
  }
  std::vector<std::string> Take() {
    MutexLock lock(&mu_);
    return std::exchange(lines_, {});
  }

 private:
  Mutex mu_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);
};

TEST(GrpcLog, ItsLinesAreLinesOfTheDaemon) {
  Lines lines;
  const auto log = lines.MakeLog(LogFormat::kJson);
  const auto route = GrpcLog::RouteTo(*log);
  Provoke();
  const std::vector<std::string> got = lines.Take();
  ASSERT_FALSE(got.empty());
  for (const std::string& line : got) {
    EXPECT_FALSE(absl::StrContains(line, "\n")) << line;
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(json.is_discarded()) << line;
    EXPECT_EQ(json["component"], "gg-test");
    EXPECT_EQ(json["level"], "error");
    EXPECT_EQ(json["source"], "grpc");
    EXPECT_TRUE(absl::StrContains(json["at"].get<std::string>(), ".cc:")) << line;
    EXPECT_FALSE(absl::StartsWith(json["at"].get<std::string>(), "/")) << line;
  }
}

TEST(GrpcLog, TextStaysOneLineEach) {
  Lines lines;
  const auto log = lines.MakeLog(LogFormat::kText);
  const auto route = GrpcLog::RouteTo(*log);
  Provoke();
  const std::vector<std::string> got = lines.Take();
  ASSERT_FALSE(got.empty());
  for (const std::string& line : got) {
    EXPECT_TRUE(absl::StrContains(line, " error gg-test: ")) << line;
    EXPECT_TRUE(absl::StrContains(line, " source=grpc at=")) << line;
  }
}

TEST(GrpcLog, AfterItsEndTheLoggerHearsNothing) {
  Lines lines;
  const auto log = lines.MakeLog(LogFormat::kJson);
  GrpcLog::RouteTo(*log);  // and gone
  Provoke();
  EXPECT_TRUE(lines.Take().empty());
}

}  // namespace
}  // namespace gg
