// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/view_codec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

using ::testing::HasSubstr;

TEST(ViewCodecTest, RoundTripKeepsOrderAddressesAndPlaces) {
  const View view{
      7,
      {{"b", "10.0.0.2:1", {{"host", "y"}, {"rack", "3"}}}, {"a", "10.0.0.1:2", {{"host", "x"}}}}};
  const absl::StatusOr<View> back = FromProto(ToProto(view));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, view);
}

TEST(ViewCodecTest, RefusesViewsThatNoCoordinatorMakes) {
  EXPECT_EQ(FromProto(ToProto(View{1, {}})).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FromProto(ToProto(View{3, {{"a", "x"}, {"", "y"}}})).status().message(),
              HasSubstr("rank 1"));
  EXPECT_THAT(FromProto(ToProto(View{3, {{"a", "x"}, {"a", "y"}}})).status().message(),
              HasSubstr("worker a is a member twice"));
}

TEST(ViewCodecTest, TimesKeepNanoseconds) {
  const absl::Time time = absl::FromUnixNanos(1'700'000'000'123'456'789);
  EXPECT_EQ(FromProto(ToProto(time)), time);
  const absl::Time before_epoch = absl::FromUnixNanos(-1'500'000'001);
  EXPECT_EQ(FromProto(ToProto(before_epoch)), before_epoch);
  EXPECT_GE(ToProto(before_epoch).nanos(), 0);
}

TEST(ViewCodecTest, InfiniteTimesStayInRange) {
  EXPECT_EQ(ToProto(absl::InfiniteFuture()).seconds(), 253402300799);
  EXPECT_EQ(ToProto(absl::InfinitePast()).seconds(), -62135596800);
}

}  // namespace
}  // namespace gg
