// SPDX-License-Identifier: Apache-2.0
//
// What every JobStore must do. To add a store: a line in Stores().
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sqlite_store.h"
#include "gtest/gtest.h"

namespace gg {
namespace {

// A place where a store can live; what Open gives sees what an earlier store there was told, if the
// kind is durable.
class Place {
 public:
  Place() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gg-store-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Place() { std::filesystem::remove_all(folder_); }
  std::string file() const { return folder_ + "/store.db"; }

 private:
  std::string folder_;
};

struct Kind {
  std::string name;
  bool durable;
  std::function<absl::StatusOr<std::unique_ptr<JobStore>>(const Place&)> open;
};

std::vector<Kind> Stores() {
  return {
      {"memory", false, [](const Place&) { return MakeMemoryStore(); }},
      {"sqlite", true,
       [](const Place& place) {
         SqliteStoreOptions options;
         options.path = place.file();
         return OpenSqliteStore(options);
       }},
  };
}

event::JobSubmitted Submitted(const std::string& id) {
  event::JobSubmitted e;
  e.job_id = id;
  e.time = absl::FromUnixNanos(1'700'000'000'123'456'789);
  e.request_id = "request-" + id;
  e.spec.name = "name-" + id;
  e.spec.labels = {{"team", "vision"}};
  e.spec.model.hidden = {128, 64};
  e.spec.train.seed = 99;
  return e;
}

event::JobEnded Succeeded(const std::string& id) {
  event::JobEnded e;
  e.job_id = id;
  e.time = absl::FromUnixSeconds(1'700'000'100);
  e.state = JobState::kSucceeded;
  e.reason = "finished on 2 workers";
  e.note = "Succeeded";
  JobResult result;
  result.test_accuracy = 0.9123456789;
  result.test_loss = 0.25;
  result.replica_accuracy = {0.91, 0.90};
  result.train_loss = {1.5, 0.5};
  result.epoch_test_accuracy = {0.8, 0.9};
  result.samples_per_second = 1234.5;
  result.train_seconds = 10;
  result.sent_bytes_per_step = 1e6;
  result.messages_per_step = 4;
  result.comm_wait_ratio = 0.01;
  result.consensus_distance = 0.125;
  result.skipped_exchanges = 3;
  result.steps = 100;
  result.epochs = 2;
  result.parameter_norm = 7;
  result.parameter_count = 431080;
  result.model_checksum = 0xfedcba9876543210;
  result.phase_seconds = {{"forward", 1.5}, {"exchange", 0.5}};
  result.trades_late = 2;
  e.result = result;
  return e;
}

std::vector<Event> LifeOf(const std::string& id, uint64_t view) {
  event::JobAssigned assigned;
  assigned.job_id = id;
  assigned.time = absl::FromUnixSeconds(1'700'000'010);
  assigned.view = view;
  assigned.members = {
      {"w1", 5, "0.1.0", "nid7", 4711, "10.0.0.1:7", "grpc", "onednn", 8, {{"rack", "3"}}},
      {"w2", 6, "0.1.0", "nid8", 4712, "10.0.0.2:7", "grpc", "onednn", 8, {}}};
  event::JobAdvanced running{id, absl::FromUnixSeconds(1'700'000'020), JobState::kRunning};
  return {Submitted(id), assigned, running, Succeeded(id)};
}

event::JobEnded Failed(const std::string& id) {
  event::JobEnded e;
  e.job_id = id;
  e.time = absl::FromUnixSeconds(1);
  e.state = JobState::kFailed;
  e.reason = "worker w2 was lost";
  e.failure = absl::StatusCode::kUnavailable;
  e.note = "WorkerLost";
  e.culprit = 1;
  e.members = {{MemberPhase::kStopped, "", {}, "grpc over 10.0.0.2:7"},
               {MemberPhase::kLost,
                "gone",
                {100, 1.5, 0.25, 0.01, 640, 0.125, 3, 0.5, true},
                "grpc over 10.0.0.1:7"}};
  e.progress = {100,
                400,
                1.5,
                6,
                0.25,
                0.01,
                1280,
                0.125,
                0.9,
                -1,
                absl::FromUnixSeconds(1),
                {{1, 100, 2.5, 3000, 0.25, 0.9, 0.125, 0.0625}}};
  e.notes = {{absl::FromUnixNanos(1), false, "Submitted", "the job was accepted", ""},
             {absl::FromUnixNanos(2), true, "PartnerLate", "late", "w2"}};
  e.revision = 17;
  return e;
}

std::vector<Event> ReplayAll(JobStore& store) {
  std::vector<Event> events;
  const absl::Status status = store.Replay([&](const Event& event) {
    events.push_back(event);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return events;
}

class StoreConformanceTest : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<JobStore> Open() {
    absl::StatusOr<std::unique_ptr<JobStore>> store = GetParam().open(place_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  Place place_;
};

TEST_P(StoreConformanceTest, ANewStoreIsEmpty) {
  EXPECT_TRUE(ReplayAll(*Open()).empty());
}

TEST_P(StoreConformanceTest, EventsComeBackEqualAndInOrder) {
  const auto store = Open();
  std::vector<Event> events = LifeOf("a", 7);
  events.push_back(Failed("b"));
  ASSERT_TRUE(store->Append({events[0]}).ok());
  ASSERT_TRUE(store->Append(absl::MakeConstSpan(events).subspan(1)).ok());
  EXPECT_TRUE(ReplayAll(*store) == events);
  EXPECT_TRUE(ReplayAll(*store) == events) << "a second replay differs";
}

TEST_P(StoreConformanceTest, AppendingNothingIsFine) {
  const auto store = Open();
  EXPECT_TRUE(store->Append({}).ok());
  EXPECT_TRUE(ReplayAll(*store).empty());
}

TEST_P(StoreConformanceTest, AnAppendThatFailsHalfWayLeavesNothing) {
  const auto store = Open();
  const std::vector<Event> mixed = {Submitted("a"), event::WorkerLeft{"w1"}};
  EXPECT_EQ(store->Append(mixed).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(ReplayAll(*store).empty());
  EXPECT_TRUE(store->Append({Event(Submitted("b"))}).ok()) << "the store must go on";
  EXPECT_EQ(ReplayAll(*store).size(), 1u);
}

TEST_P(StoreConformanceTest, ForgottenJobsTakeNoRoom) {
  const auto store = Open();
  for (int i = 0; i < 50; ++i) {
    const std::string id = absl::StrCat("j", i);
    ASSERT_TRUE(store->Append(LifeOf(id, static_cast<uint64_t>(i))).ok());
    ASSERT_TRUE(store->Append({Event(event::JobForgotten{id, 40, 50})}).ok());
  }
  ASSERT_TRUE(store->Append({Event(Submitted("kept"))}).ok());
  const std::vector<Event> expected = {event::JobForgotten{"j49", 40, 50}, Submitted("kept")};
  EXPECT_TRUE(ReplayAll(*store) == expected);
}

TEST_P(StoreConformanceTest, TheVisitorsErrorEndsTheReplay) {
  const auto store = Open();
  ASSERT_TRUE(store->Append(LifeOf("a", 1)).ok());
  int seen = 0;
  const absl::Status status = store->Replay([&](const Event&) {
    return ++seen == 2 ? absl::CancelledError("enough") : absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(seen, 2);
}

TEST_P(StoreConformanceTest, OddTextSurvives) {
  const auto store = Open();
  event::JobSubmitted odd = Submitted("a");
  odd.spec.labels = {{"quote", "'; DROP TABLE events; --"}, {"zero", std::string("a\0b", 3)}};
  odd.spec.data.path = std::string(100'000, 'x');
  ASSERT_TRUE(store->Append({Event(odd)}).ok());
  EXPECT_TRUE(ReplayAll(*store) == std::vector<Event>{odd});
}

TEST_P(StoreConformanceTest, DurableStoresRememberAfterClosing) {
  std::vector<Event> events = LifeOf("a", 1);
  {
    const auto store = Open();
    ASSERT_TRUE(store->Append(events).ok());
    EXPECT_GT(store->Bytes(), 0);
  }
  const std::vector<Event> expected = GetParam().durable ? events : std::vector<Event>{};
  EXPECT_TRUE(ReplayAll(*Open()) == expected);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreConformanceTest, testing::ValuesIn(Stores()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace gg
