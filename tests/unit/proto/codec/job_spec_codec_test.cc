// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/job_spec_codec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

namespace pb = google::protobuf;
namespace v1 = gossipgrad::v1;

// Sets every field of `message` (nested ones too) to something random and never a proto default.
void FillAll(Rng& rng, pb::Message* message) {
  const pb::Reflection* reflection = message->GetReflection();
  const pb::Descriptor* descriptor = message->GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const pb::FieldDescriptor* field = descriptor->field(i);
    if (field->is_map()) continue;  // set by the caller
    const int64_t number = static_cast<int64_t>(rng.Below(1'000'000)) + 1;
    switch (field->cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_MESSAGE:
        FillAll(rng, reflection->MutableMessage(message, field));
        break;
      case pb::FieldDescriptor::CPPTYPE_STRING:
        reflection->SetString(message, field, absl::StrCat("text-", number));
        break;
      case pb::FieldDescriptor::CPPTYPE_INT64:
        if (!field->is_repeated()) {
          reflection->SetInt64(message, field, number);
          break;
        }
        for (int64_t n = 0; n <= number % 3; ++n) reflection->AddInt64(message, field, number + n);
        break;
      case pb::FieldDescriptor::CPPTYPE_UINT64:
        reflection->SetUInt64(message, field, rng.NextU64() | 1);
        break;
      case pb::FieldDescriptor::CPPTYPE_DOUBLE:
        reflection->SetDouble(message, field, static_cast<double>(number) / 7);
        break;
      case pb::FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(message, field, number % 2 == 0);
        break;
      default:
        FAIL() << "teach FillAll the type of " << field->full_name();
    }
  }
}

TEST(JobSpecCodecTest, EveryFieldOfTheMessageSurvivesTheRoundTrip) {
  for (uint64_t round = 0; round < 200; ++round) {
    Rng rng(7, "codec", round);
    v1::JobSpec proto;
    FillAll(rng, &proto);
    for (uint64_t n = 0; n < round % 4; ++n) {
      (*proto.mutable_labels())[absl::StrCat("key", n)] = absl::StrCat(rng.NextU32());
      for (auto* map : {proto.mutable_optimizer()->mutable_weight_decays(),
                        proto.mutable_optimizer()->mutable_rate_factors()}) {
        (*map)[absl::StrCat("*.", rng.NextU32())] = rng.Uniform();
      }
    }
    const v1::JobSpec back = ToProto(FromProto(proto));
    std::string difference;
    pb::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    ASSERT_TRUE(differencer.Compare(proto, back)) << "round " << round << "\n" << difference;
  }
}

TEST(JobSpecCodecTest, AnEmptyMessageIsTheDefaultSpec) {
  EXPECT_EQ(FromProto(v1::JobSpec()), JobSpec());
}

TEST(JobSpecCodecTest, TheDefaultSpecIsWrittenOutInFull) {
  const v1::JobSpec proto = ToProto(JobSpec());
  EXPECT_TRUE(proto.model().has_name());
  EXPECT_EQ(proto.exchange().schedule(), "dissemination");
  EXPECT_EQ(FromProto(proto), JobSpec());
}

TEST(JobSpecCodecTest, AnExplicitZeroIsNotTheDefault) {
  v1::JobSpec proto;
  proto.mutable_optimizer()->set_momentum(0);
  proto.mutable_exchange()->set_final_average(false);
  proto.mutable_train()->set_seed(0);
  const JobSpec spec = FromProto(proto);
  EXPECT_EQ(spec.optimizer.momentum, 0);
  EXPECT_FALSE(spec.exchange.final_average);
  EXPECT_EQ(spec.train.seed, 0u);
}

TEST(JobSpecCodecTest, FieldsOfANewerVersionAreIgnored) {
  std::string bytes = ToProto(JobSpec()).SerializeAsString();
  bytes += std::string("\xfa\x3e\x03xyz", 6);  // field 1007, three bytes
  v1::JobSpec proto;
  ASSERT_TRUE(proto.ParseFromString(bytes));
  EXPECT_EQ(FromProto(proto), JobSpec());
}

}  // namespace
}  // namespace gg
