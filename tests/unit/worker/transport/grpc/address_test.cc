// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/address.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace gg {
namespace {

TEST(GrpcAddressTest, SurvivesTheWayThroughText) {
  const GrpcAddress address{"10.0.0.7", 4712, "gossipgrad-1-ab", "boot+4026531840"};
  EXPECT_EQ(address.ToString(), "grpc:10.0.0.7:4712;unix=gossipgrad-1-ab;host=boot+4026531840");
  const auto parsed = ParseGrpcAddress(address.ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->ToString(), address.ToString());
  const auto v6 = ParseGrpcAddress("grpc:[::1]:80;later=thing");
  ASSERT_TRUE(v6.ok()) << v6.status();
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 80);
  EXPECT_EQ(v6->ToString(), "grpc:[::1]:80");
}

TEST(GrpcAddressTest, RefusesWhatIsNone) {
  for (absl::string_view bad :
       {"", "grpc:", "inproc://3", "grpc:host", "grpc:host:", "grpc::80", "grpc:host:-1",
        "grpc:host:70000", "grpc:host:8x", "grpc:[::1:80"}) {
    const auto parsed = ParseGrpcAddress(bad);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_TRUE(absl::StrContains(parsed.status().message(), "'")) << parsed.status();
  }
}

TEST(GrpcAddressTest, TheUnixSocketIsForTheSameHostOnly) {
  const GrpcAddress peer{"127.0.0.1", 4712, "name", "host-a"};
  const auto same = ResolveTargets(peer, "host-a");
  ASSERT_TRUE(same.ok());
  ASSERT_EQ(same->size(), 2u);
  EXPECT_EQ((*same)[0].text, "unix socket");
  EXPECT_EQ((*same)[0].address.ss_family, AF_UNIX);
  EXPECT_EQ((*same)[1].text, "tcp 127.0.0.1:4712");
  for (absl::string_view other : {"host-b", ""}) {
    const auto elsewhere = ResolveTargets(peer, other);
    ASSERT_TRUE(elsewhere.ok());
    ASSERT_EQ(elsewhere->size(), 1u) << other;
    EXPECT_EQ((*elsewhere)[0].address.ss_family, AF_INET);
  }
  const auto unknown = ResolveTargets({"127.0.0.1", 1, "name", ""}, "");
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(unknown->size(), 1u) << "two unknown hosts are not the same host";
}

TEST(GrpcAddressTest, AnUnknownNameIsUnavailable) {
  const auto targets = ResolveTargets({"no-such-host.invalid", 1, "", ""}, "");
  EXPECT_EQ(targets.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(targets.status().message(), "no-such-host.invalid"));
}

TEST(GrpcAddressTest, KnowsThisHost) {
  EXPECT_EQ(LocalHostId(), LocalHostId());
}

}  // namespace
}  // namespace gg
