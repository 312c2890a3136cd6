// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include "gtest/gtest.h"

namespace gg {
namespace {

absl::Status Fail() {
  return absl::NotFoundError("no such file");
}
absl::StatusOr<int> Value(bool ok) {
  if (ok) return 4;
  return Fail();
}

TEST(Annotate, KeepsTheCodeAndPrefixesTheMessage) {
  const absl::Status status = Annotate(Fail(), "reading a.gz");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "reading a.gz: no such file");
}

TEST(Annotate, LeavesOkAlone) {
  EXPECT_TRUE(Annotate(absl::OkStatus(), "reading").ok());
}

absl::Status Chain(bool ok, int* reached) {
  GG_RETURN_IF_ERROR(ok ? absl::OkStatus() : Fail());
  ++*reached;
  return absl::OkStatus();
}

TEST(ReturnIfError, ReturnsOnlyAtAnError) {
  int reached = 0;
  EXPECT_TRUE(Chain(true, &reached).ok());
  EXPECT_EQ(Chain(false, &reached).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(reached, 1);
}

absl::StatusOr<int> Twice(bool ok) {
  GG_ASSIGN_OR_RETURN(const int a, Value(true));
  GG_ASSIGN_OR_RETURN(const int b, Value(ok));
  return a + b;
}

TEST(AssignOrReturn, AssignsOrReturns) {
  EXPECT_EQ(*Twice(true), 8);
  EXPECT_EQ(Twice(false).status(), Fail());
}

}  // namespace
}  // namespace gg
