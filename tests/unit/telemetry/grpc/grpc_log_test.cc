// SPDX-License-Identifier: Apache-2.0
// What gRPC itself has to say, once provoked.
#include "telemetry/grpc/grpc_log.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/sync.h"
#include "nlohmann/json.hpp"

namespace gg {
namespace {

// gRPC refuses a server on an address that is none, and says why.
void Provoke() {
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  const auto queue = builder.AddCompletionQueue();
  builder.RegisterAsyncGenericService(&service);
  builder.AddListeningPort("unix:/nowhere/at/all", grpc::InsecureServerCredentials());
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
  queue->Shutdown();
  void* tag;
  bool ok;
  while (queue->Next(&tag, &ok)) {
  }
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
