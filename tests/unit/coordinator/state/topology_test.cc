// SPDX-License-Identifier: Apache-2.0
// Where workers stand: from their registration to the view.
#include <variant>

#include "coordinator/state/decide.h"
#include "coordinator/state/job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

input::WorkerRegistered Registration() {
  input::WorkerRegistered in;
  in.session = 1;
  in.info.worker_id = "w";
  in.info.incarnation = 1;
  in.info.host = "node-7";
  in.info.transport = "grpc";
  return in;
}

TEST(Topology, TheHostIsALabelUnlessItIsGivenAnother) {
  WorkerInfo info = Registration().info;
  info.topology = {{"rack", "3"}};
  EXPECT_EQ(MemberOf(info).topology,
            (std::map<std::string, std::string>{{"host", "node-7"}, {"rack", "3"}}));
  info.topology["host"] = "other";
  EXPECT_EQ(MemberOf(info).topology.at("host"), "other");
}

TEST(Topology, LabelsThatAreNoWordsAreRefusedAtRegistration) {
  input::WorkerRegistered in = Registration();
  in.info.topology["rack"] = "a b";
  const Decision decision = Decide(ClusterState(), in, absl::UnixEpoch());
  EXPECT_TRUE(decision.events.empty());
  ASSERT_EQ(decision.commands.size(), 1u);
  const auto* hang_up = std::get_if<command::HangUp>(&decision.commands[0].body);
  ASSERT_NE(hang_up, nullptr);
  EXPECT_EQ(hang_up->why.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(hang_up->why.message()), testing::HasSubstr("topology value \"a b\""));
}

}  // namespace
}  // namespace gg
