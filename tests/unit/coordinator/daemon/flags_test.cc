// SPDX-License-Identifier: Apache-2.0
#include "coordinator/daemon/flags.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

using ::testing::HasSubstr;

std::variant<Flags, Leave> Parse(std::vector<const char*> args) {
  args.insert(args.begin(), "gg-coordinator");
  return ParseFlags(static_cast<int>(args.size()), args.data());
}

Leave Refused(std::vector<const char*> args) {
  const auto parsed = Parse(std::move(args));
  const auto* leave = std::get_if<Leave>(&parsed);
  if (leave == nullptr) {
    ADD_FAILURE() << "accepted";
    return {};
  }
  EXPECT_EQ(leave->code, kExitUsage);
  return *leave;
}

TEST(FlagsTest, DefaultsListenOnLoopbackOnlyWhereGgctlLooks) {
  const auto parsed = Parse({});
  const Flags& flags = std::get<Flags>(parsed);
  EXPECT_EQ(flags.listen, "127.0.0.1:7070");
  EXPECT_EQ(flags.http_listen, "127.0.0.1:7071");
  EXPECT_EQ(flags.store, "");
  EXPECT_EQ(flags.lease_seconds, 3);
}

TEST(FlagsTest, EveryFlagArrives) {
  const auto parsed =
      Parse({"--listen", "0.0.0.0:7000", "--insecure", "--http-listen", "127.0.0.1:7001", "--store",
             "/tmp/s.db", "--port-file", "/tmp/p", "--lease-seconds", "10", "--heartbeat-seconds",
             "1", "--settle-seconds", "0", "--log-format", "json", "--log-level", "debug"});
  const Flags& flags = std::get<Flags>(parsed);
  EXPECT_EQ(flags.listen, "0.0.0.0:7000");
  EXPECT_EQ(flags.http_listen, "127.0.0.1:7001");
  EXPECT_EQ(flags.store, "/tmp/s.db");
  EXPECT_EQ(flags.port_file, "/tmp/p");
  EXPECT_EQ(flags.lease_seconds, 10);
  EXPECT_EQ(flags.heartbeat_seconds, 1);
  EXPECT_EQ(flags.settle_seconds, 0);
  EXPECT_EQ(flags.log_format, LogFormat::kJson);
  EXPECT_EQ(flags.log_level, LogLevel::kDebug);
}

TEST(FlagsTest, AnOpenAddressNeedsAnExplicitWord) {
  EXPECT_THAT(Refused({"--listen", "0.0.0.0:0"}).text, HasSubstr("--insecure"));
  EXPECT_THAT(Refused({"--listen", "[::]:7"}).text, HasSubstr("--insecure"));
  EXPECT_THAT(Refused({"--http-listen", "0.0.0.0:0"}).text, HasSubstr("--http-listen"));
  EXPECT_TRUE(std::holds_alternative<Flags>(Parse({"--http-listen", "0.0.0.0:0", "--insecure"})));
  EXPECT_TRUE(std::holds_alternative<Flags>(Parse({"--listen", "[::1]:0"})));
  EXPECT_TRUE(std::holds_alternative<Flags>(Parse({"--listen", "localhost:0"})));
}

TEST(FlagsTest, MistakesAreNamed) {
  EXPECT_THAT(Refused({"--listen", "127.0.0.1"}).text, HasSubstr("host:port"));
  EXPECT_THAT(Refused({"--listen", "127.0.0.1:99999"}).text, HasSubstr("65535"));
  EXPECT_THAT(Refused({"--http-listen", "x"}).text, HasSubstr("--http-listen"));
  EXPECT_THAT(Refused({"--log-level", "loud"}).text, HasSubstr("loud"));
  EXPECT_THAT(Refused({"--log-format", "xml"}).text, HasSubstr("xml"));
  EXPECT_THAT(Refused({"--lease-seconds", "0"}).text, HasSubstr("--lease-seconds"));
  for (const char* value : {"nan", "inf", "-1", "0.01", "86401", "1e300"}) {
    for (const char* flag : {"--lease-seconds", "--heartbeat-seconds"}) {
      EXPECT_THAT(Refused({flag, value}).text, HasSubstr(flag)) << value;
    }
  }
  for (const char* value : {"nan", "inf", "-1"}) {
    EXPECT_THAT(Refused({"--settle-seconds", value}).text, HasSubstr("--settle-seconds")) << value;
  }
  EXPECT_THAT(Refused({"--lease-seconds", "1", "--heartbeat-seconds", "0.8"}).text,
              HasSubstr("more than half"));
  EXPECT_THAT(Refused({"--stroe", "x"}).text, HasSubstr("--stroe"));
  EXPECT_THAT(Refused({"extra"}).text, HasSubstr("extra"));
}

TEST(FlagsTest, HelpAndVersionAreAnswersNotErrors) {
  for (const char* flag : {"--help", "--version"}) {
    const auto parsed = Parse({flag});
    const Leave& leave = std::get<Leave>(parsed);
    EXPECT_EQ(leave.code, kExitOk);
    EXPECT_THAT(leave.text, HasSubstr("gg-coordinator"));
  }
}

}  // namespace
}  // namespace gg
