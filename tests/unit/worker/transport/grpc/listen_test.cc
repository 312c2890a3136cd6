// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "worker/transport/grpc/address.h"
#include "worker/transport/grpc/grpc_transport.h"

namespace gg {
namespace {

TEST(GrpcListenTest, ListensWhereItIsToldAndSaysWhere) {
  auto transport = MakeGrpcTransport({});
  ASSERT_TRUE(transport.ok()) << transport.status();
  EXPECT_EQ((*transport)->name(), "grpc");
  const auto address = ParseGrpcAddress((*transport)->local_address());
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->host, "127.0.0.1");
  EXPECT_GT(address->port, 0);
  EXPECT_FALSE(address->unix_name.empty());
}

TEST(GrpcListenTest, APortInUseIsUnavailableWithTheReason) {
  auto first = MakeGrpcTransport({});
  ASSERT_TRUE(first.ok());
  GrpcTransportOptions options;
  options.listen = absl::StrCat("127.0.0.1:", ParseGrpcAddress((*first)->local_address())->port);
  const auto second = MakeGrpcTransport(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(second.status().message(), options.listen)) << second.status();
  EXPECT_TRUE(absl::StrContains(second.status().message(), "in use")) << second.status();
}

TEST(GrpcListenTest, AWildcardNeedsAnAdvertisedHost) {
  GrpcTransportOptions options;
  options.listen = "0.0.0.0:0";
  EXPECT_EQ(MakeGrpcTransport(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.advertise_host = "127.0.0.1";
  auto transport = MakeGrpcTransport(options);
  ASSERT_TRUE(transport.ok()) << transport.status();
  EXPECT_TRUE(absl::StartsWith((*transport)->local_address(), "grpc:127.0.0.1:"));
}

TEST(GrpcListenTest, RefusesAnAddressThatIsNone) {
  GrpcTransportOptions options;
  for (absl::string_view bad : {"", "nonsense", "127.0.0.1:99999", ":80"}) {
    options.listen = std::string(bad);
    EXPECT_EQ(MakeGrpcTransport(options).status().code(), absl::StatusCode::kInvalidArgument)
        << bad;
  }
}

TEST(GrpcListenTest, TwoTransportsOfOneProcessHaveDifferentAddresses) {
  auto first = MakeGrpcTransport({}), second = MakeGrpcTransport({});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(ParseGrpcAddress((*first)->local_address())->unix_name,
            ParseGrpcAddress((*second)->local_address())->unix_name);
}

}  // namespace
}  // namespace gg
