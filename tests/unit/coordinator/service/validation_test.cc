// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/codec/version.h"
#include "tests/unit/coordinator/service/server_fixture.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;
using ::testing::Contains;
using ::testing::SizeIs;

class ValidationTest : public ServerFixture {
 protected:
  // The fields complained about.
  std::vector<std::string> Refused(const v1::SubmitJobRequest& request) {
    grpc::ClientContext context;
    SetDeadline(&context);
    v1::SubmitJobResponse response;
    const grpc::Status status = jobs_->SubmitJob(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    std::vector<std::string> fields;
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto details = trailers.find(kViolationsKey);
    if (details == trailers.end()) return fields;
    v1::FieldViolations violations;
    EXPECT_TRUE(violations.ParseFromArray(details->second.data(),
                                          static_cast<int>(details->second.size())));
    for (const auto& violation : violations.violations()) {
      EXPECT_FALSE(violation.description().empty());
      fields.push_back(violation.field());
    }
    return fields;
  }
};

TEST_F(ValidationTest, AllMistakesComeAtOnceAsDetails) {
  Start();
  v1::SubmitJobRequest request;
  *request.mutable_spec() = Spec("lenet");
  request.mutable_spec()->mutable_exchange()->set_schedule("butterfly");
  request.mutable_spec()->mutable_train()->set_batch_size(0);
  request.mutable_spec()->mutable_optimizer()->set_momentum(1.5);
  const std::vector<std::string> fields = Refused(request);
  EXPECT_THAT(fields, SizeIs(3));
  EXPECT_THAT(fields, Contains("spec.exchange.schedule"));
  EXPECT_THAT(fields, Contains("spec.train.batch_size"));
  EXPECT_THAT(fields, Contains("spec.optimizer.momentum"));
}

TEST_F(ValidationTest, AMissingSpecAndAHugeRequestIdAreRefused) {
  Start();
  EXPECT_THAT(Refused({}), Contains("spec"));
  v1::SubmitJobRequest request;
  *request.mutable_spec() = Spec("lenet");
  request.set_request_id(std::string(1000, 'x'));
  EXPECT_THAT(Refused(request), Contains("request_id"));
}

TEST_F(ValidationTest, HowLongEverTheMistakesAreTheAnswerArrives) {
  Start();
  v1::SubmitJobRequest request;
  *request.mutable_spec() = Spec(std::string(3000, '\n'));
  request.mutable_spec()->mutable_exchange()->set_schedule(std::string(100'000, '"'));
  request.mutable_spec()->mutable_data()->set_format(std::string(50'000, '%'));
  for (int i = 0; i < 200; ++i) {
    (*request.mutable_spec()->mutable_labels())["bad label " + std::to_string(i)] = "\n";
  }
  EXPECT_THAT(Refused(request), Contains("spec.exchange.schedule"));
}

TEST_F(ValidationTest, WhatIsLegalButSeldomWantedIsAWarningInTheHistory) {
  Start();
  v1::JobSpec spec = Spec("drifts", 4, 4);
  spec.mutable_exchange()->set_payload("gradients");
  spec.mutable_exchange()->set_average_every(0);
  v1::Job job;
  ASSERT_TRUE(Submit(spec, "r", &job).ok());
  bool warned = false;
  for (const v1::JobEvent& event : job.events()) warned = warned || event.type() == "Warning";
  EXPECT_TRUE(warned) << job.DebugString();
}

TEST_F(ValidationTest, ValidateOnlyStoresNothing) {
  Start();
  v1::SubmitJobRequest request;
  *request.mutable_spec() = Spec("lenet");
  request.set_validate_only(true);
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::SubmitJobResponse response;
  ASSERT_TRUE(jobs_->SubmitJob(&context, request, &response).ok());
  EXPECT_EQ(response.job().spec().exchange().schedule(), "dissemination");
  v1::Job job;
  EXPECT_EQ(Get("lenet", &job).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ValidationTest, ValidateOnlyAnswersAsTheRealSubmitWould) {
  Start();
  v1::Job job;
  ASSERT_TRUE(Submit(Spec("lenet", 2, 2), "r", &job).ok());
  v1::SubmitJobRequest request;
  *request.mutable_spec() = Spec("lenet");
  request.set_validate_only(true);
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::SubmitJobResponse response;
  const grpc::Status status = jobs_->SubmitJob(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(status.error_message(), Submit(Spec("lenet"), "other", &job).error_message());
}

}  // namespace
}  // namespace gg
