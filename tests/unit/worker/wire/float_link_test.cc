// SPDX-License-Identifier: Apache-2.0
#include "worker/wire/float_link.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/rng.h"
#include "gtest/gtest.h"
#include "tests/support/sim_clock.h"
#include "tests/support/sim_network.h"

namespace gg {
namespace {

constexpr Tag kTag{Channel::kExchange, 3, 1};

std::vector<float> Values(size_t count) {
  Rng rng(1, "values");
  std::vector<float> values(count);
  for (float& v : values) v = rng.Normal();
  return values;
}

class FloatLinkTest : public testing::TestWithParam<const char*> {
 protected:
  FloatLinkTest() : network_(clock_, 2, {}) {
    for (Rank r = 0; r < 2; ++r) {
      groups_.push_back(network_.Join(r));
      links_.push_back(FloatLink::Create(*groups_[r], *ParseWireFormat(GetParam(), 0.2, 5)));
    }
  }
  ~FloatLinkTest() override { groups_.clear(); }

  // Runs `body` and what the network does for a second after it.
  void Run(const std::function<void()>& body) {
    ASSERT_TRUE(clock_
                    .Run({[&] {
                      body();
                      clock_.Compute(absl::Seconds(1));
                    }})
                    .ok());
  }
  bool exact() const { return std::string(GetParam()) == "fp32"; }

  SimClock clock_;
  SimNetwork network_;
  std::vector<std::unique_ptr<PeerGroup>> groups_;
  std::vector<std::shared_ptr<FloatLink>> links_;
};

TEST_P(FloatLinkTest, WhatTheSenderKeepsIsWhatTheReceiverGets) {
  const std::vector<float> values = Values(150);
  std::vector<float> sent = values, received(150, -1.0f);
  std::optional<absl::Status> send_status, recv_status;
  Run([&] {
    links_[1]->Recv(0, kTag, absl::MakeSpan(received), [&](absl::Status s) { recv_status = s; });
    links_[0]->SendRounded(1, kTag, absl::MakeSpan(sent), FloatLink::Draw::kOwn,
                           [&](absl::Status s) { send_status = s; });
  });
  ASSERT_TRUE(send_status.has_value() && recv_status.has_value());
  EXPECT_TRUE(send_status->ok() && recv_status->ok());
  EXPECT_EQ(received, sent);
  EXPECT_EQ(sent == values, exact());
}

TEST_P(FloatLinkTest, SendsTheSameAsSendRoundedAndLeavesTheValues) {
  const std::vector<float> values = Values(150);
  std::vector<float> rounded = values, received(150);
  links_[0]->Round(kTag, absl::MakeSpan(rounded), FloatLink::Draw::kOwn);
  Run([&] {
    links_[1]->Recv(0, kTag, absl::MakeSpan(received), [](absl::Status) {});
    links_[0]->Send(1, kTag, values, [](absl::Status) {});
  });
  EXPECT_EQ(received, rounded);
  EXPECT_EQ(Values(150), values);
}

TEST_P(FloatLinkTest, TheBytesAreThoseOfTheEncoding) {
  std::vector<float> values = Values(150), received(150);
  Tag told{};
  Run([&] {
    std::vector<uint8_t> bytes(links_[0]->WireBytes(150));
    groups_[1]->Recv(0, kTag, absl::MakeSpan(bytes), [&](absl::Status s) {
      EXPECT_TRUE(s.ok()) << s;
      told = kTag;
    });
    links_[0]->Send(1, kTag, values, [](absl::Status) {});
    clock_.Compute(absl::Milliseconds(100));
  });
  EXPECT_EQ(told, kTag);
}

TEST_P(FloatLinkTest, AReceiveThatIsGivenUpLeavesTheValues) {
  std::vector<float> received(150, 3.0f);
  std::optional<absl::Status> status;
  Run([&] {
    links_[1]->Recv(0, kTag, absl::MakeSpan(received), [&](absl::Status s) { status = s; });
    links_[1]->CancelRecv(0, kTag);
  });
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(received, std::vector<float>(150, 3.0f));
}

TEST_P(FloatLinkTest, OutlivesItsUserUntilTheLastDone) {
  std::vector<float> received(150);
  std::optional<absl::Status> status;
  Run([&] {
    links_[1]->Recv(0, kTag, absl::MakeSpan(received), [&](absl::Status s) { status = s; });
    links_.clear();
    groups_[1].reset();
  });
  ASSERT_TRUE(status.has_value());
  EXPECT_FALSE(status->ok());
}

INSTANTIATE_TEST_SUITE_P(All, FloatLinkTest,
                         testing::Values("fp32", "bf16", "fp16", "int8", "topk"),
                         [](const auto& encoding) { return std::string(encoding.param); });

TEST(FloatLinkDraw, CommonDrawsAreEqualAndOwnOnesAreNot) {
  SimClock clock;
  SimNetwork network(clock, 2, {});
  auto a = network.Join(0), b = network.Join(1);
  const WireFormat format = *ParseWireFormat("int8", 1, 5);
  const auto first = FloatLink::Create(*a, format), second = FloatLink::Create(*b, format);
  const auto rounded = [](FloatLink& link, Tag tag, FloatLink::Draw draw) {
    std::vector<float> values = Values(1000);
    link.Round(tag, absl::MakeSpan(values), draw);
    return values;
  };
  EXPECT_EQ(rounded(*first, kTag, FloatLink::Draw::kCommon),
            rounded(*second, kTag, FloatLink::Draw::kCommon));
  EXPECT_NE(rounded(*first, kTag, FloatLink::Draw::kOwn),
            rounded(*second, kTag, FloatLink::Draw::kOwn));
  for (const Tag other : {Tag{Channel::kCollective, 3, 1}, Tag{Channel::kExchange, 4, 1},
                          Tag{Channel::kExchange, 3, 2}}) {
    EXPECT_NE(rounded(*first, kTag, FloatLink::Draw::kOwn),
              rounded(*first, other, FloatLink::Draw::kOwn));
  }
}

}  // namespace
}  // namespace gg
