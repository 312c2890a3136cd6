// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/event_codec.h"

#include <string>

#include "coordinator/store/events.pb.h"
#include "core/rng.h"
#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

using ::testing::HasSubstr;

TEST(EventCodecTest, VolatileEventsAreRefused) {
  EXPECT_EQ(EncodeEvent(event::WorkerHeard{"w", absl::UnixEpoch()}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(EventCodecTest, EventsOfANewerVersionAreRefusedNotGuessed) {
  gossipgrad::store::StoredEvent stored;
  stored.set_version(kStoredEventVersion + 1);
  stored.mutable_forgotten()->set_job_id("a");
  const absl::Status status = DecodeEvent(stored.SerializeAsString()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("version 2"));
}

TEST(EventCodecTest, WhereWorkersStandIsKept) {
  event::JobAssigned assigned;
  assigned.job_id = "j-1";
  WorkerInfo& worker = assigned.members.emplace_back();
  worker.worker_id = "w";
  worker.topology = {{"rack", "3"}, {"row", "b"}};
  const absl::StatusOr<Event> back = DecodeEvent(*EncodeEvent(assigned));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(std::get<event::JobAssigned>(*back).members, assigned.members);
}

TEST(EventCodecTest, AStateOfANewerVersionIsRefused) {
  gossipgrad::store::StoredEvent stored;
  stored.set_version(kStoredEventVersion);
  stored.mutable_advanced()->set_state(static_cast<gossipgrad::v1::JobState>(77));
  EXPECT_EQ(DecodeEvent(stored.SerializeAsString()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(EventCodecTest, TheCurveOfAJobThatIsOverIsKept) {
  event::JobEnded ended;
  ended.job_id = "j-1";
  ended.state = JobState::kFailed;
  EpochPoint point{1, 50, 4.5, 850, 0.75, 0.5, 0.25, 0.125};
  ended.progress.curve = {point, EpochPoint{.epoch = 2}};
  const absl::StatusOr<Event> read = DecodeEvent(*EncodeEvent(ended));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(std::get<event::JobEnded>(*read).progress.curve, ended.progress.curve);
}

TEST(EventCodecTest, DamagedBytesAreDataLossOrAnEventButNeverACrash) {
  event::JobSubmitted submitted;
  submitted.job_id = "j-1";
  submitted.spec.name = "lenet";
  const std::string good = *EncodeEvent(submitted);
  EXPECT_EQ(DecodeEvent("").status().code(), absl::StatusCode::kDataLoss);
  for (size_t size = 0; size < good.size(); ++size) {
    DecodeEvent(good.substr(0, size)).status().IgnoreError();
  }
  google::protobuf::LogSilencer quiet;  // thousands of lines about bad UTF-8
  Rng rng(3, "damage");
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    bad[rng.Below(bad.size())] ^= static_cast<char>(1 << rng.Below(8));
    DecodeEvent(bad).status().IgnoreError();
  }
}

}  // namespace
}  // namespace gg
