// SPDX-License-Identifier: Apache-2.0
// Abort from another thread ends every wait of the training thread, on real threads and the real
// clock.
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/sim_threads.h"

namespace gg {
namespace {

// One worker of two trains; the other never does anything.
class Abort : public testing::TestWithParam<const char*> {
 protected:
  Abort() {
    ExchangeSpec spec = SimSpec("weights-momentum", GetParam());
    spec.deadline_seconds = 3600;
    cluster_ = std::make_unique<ThreadCluster>(SimModel(), spec, 2);
  }
  ExchangeStrategy& exchange() { return cluster_->worker(0).exchange(); }
  std::unique_ptr<ThreadCluster> cluster_;
};

TEST_P(Abort, EndsAWaitForThePartner) {
  absl::Status status;
  std::thread training([&] {
    for (uint64_t step = 0; step < 5 && status.ok(); ++step) {
      status = cluster_->worker(0).Step(step).status();
    }
  });
  // Whether it comes before or during the wait, the result is the same.
  exchange().Abort(absl::CancelledError("the job was cancelled"));
  exchange().Abort(absl::InternalError("too late, the first reason stays"));
  training.join();
  EXPECT_EQ(status, absl::CancelledError("the job was cancelled"));
  EXPECT_EQ(exchange().BeginStep(9), status);
  EXPECT_EQ(exchange().Settle().status(), status);
}

TEST_P(Abort, EndsTheFinalAverage) {
  absl::Status status;
  std::thread training(
      [&] { status = exchange().AverageReplicas(absl::InfiniteFuture()).status(); });
  exchange().Abort(absl::CancelledError("the job was cancelled"));
  training.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Overlaps, Abort, testing::Values("none", "layerwise", "step"));

}  // namespace
}  // namespace gg
