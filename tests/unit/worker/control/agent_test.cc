// SPDX-License-Identifier: Apache-2.0
//
// The agent against a coordinator that does what the test says, over real gRPC on loopback.
#include "worker/control/agent.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gossipgrad/v1/worker_control.grpc.pb.h"

namespace gg {
namespace {

using gossipgrad::v1::CoordinatorMessage;
using gossipgrad::v1::WorkerControl;
using gossipgrad::v1::WorkerMessage;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(20);  // far beyond anything that works

class FakeCoordinator final : public WorkerControl::Service {
 public:
  using Stream = grpc::ServerReaderWriter<CoordinatorMessage, WorkerMessage>;

  explicit FakeCoordinator(const std::string& address = "127.0.0.1:0") {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
    // A port that is taken must fail, not be shared.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeCoordinator() override { Kill(); }

  void Kill() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    server_ = nullptr;
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  grpc::Status Connect(grpc::ServerContext* context, Stream* stream) override {
    if (!refuse_with.ok()) return refuse_with;
    WorkerMessage message;
    if (!stream->Read(&message)) return grpc::Status::OK;
    Keep(message);
    CoordinatorMessage registered;
    registered.mutable_registered()->set_coordinator_id("fake");
    registered.mutable_registered()->set_heartbeat_seconds(0.05);
    registered.mutable_registered()->set_lease_seconds(5);
    stream->Write(registered);
    {
      MutexLock lock(&monitor_.mu);
      stream_ = stream;
      context_ = context;
      monitor_.changed.NotifyAll();
    }
    while (stream->Read(&message)) Keep(message);
    MutexLock lock(&monitor_.mu);
    stream_ = nullptr;
    context_ = nullptr;
    return grpc::Status::OK;
  }

  bool Order(const CoordinatorMessage& message) {
    MutexLock lock(&monitor_.mu);
    Await([this] { return stream_ != nullptr; });
    return stream_ != nullptr && stream_->Write(message);
  }

  // Cuts the stream as a crash would.
  void Cut() {
    MutexLock lock(&monitor_.mu);
    Await([this] { return context_ != nullptr; });
    if (context_ != nullptr) context_->TryCancel();
  }

  // The first message, from now on, for which `wanted` holds; everything before it is dropped.
  std::optional<WorkerMessage> Expect(std::function<bool(const WorkerMessage&)> wanted) {
    MutexLock lock(&monitor_.mu);
    std::optional<WorkerMessage> found;
    Await([&] {
      while (!received_.empty() && !found) {
        if (wanted(received_.front())) found = received_.front();
        received_.pop_front();
      }
      return found.has_value();
    });
    return found;
  }

  grpc::Status refuse_with = grpc::Status::OK;

 private:
  void Keep(const WorkerMessage& message) {
    MutexLock lock(&monitor_.mu);
    received_.push_back(message);
    monitor_.changed.NotifyAll();
  }
  void Await(absl::FunctionRef<bool()> ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) {
    RealClock().Await(monitor_, ready, RealClock().Now() + kPatience);
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  Monitor monitor_;
  std::deque<WorkerMessage> received_;
  Stream* stream_ = nullptr;
  grpc::ServerContext* context_ = nullptr;
};

class RecordingHandler : public ControlHandler {
 public:
  void OnRegistered(const gossipgrad::v1::Registered& r) override {
    Note("registered " + r.coordinator_id());
  }
  void OnAssign(const gossipgrad::v1::Assign& a) override { Note("assign " + a.job_id()); }
  void OnBegin(const gossipgrad::v1::Begin& b) override { Note("begin " + b.job_id()); }
  void OnStop(const gossipgrad::v1::Stop& s) override { Note("stop " + s.job_id()); }
  void OnDisconnected(const absl::Status&) override { Note("disconnected"); }
  void OnGivenUp(const absl::Status& why) override { Note("given up " + why.ToString()); }

  // Waits for the next note.
  std::string Next() {
    MutexLock lock(&monitor_.mu);
    RealClock().Await(
        monitor_, [this] { return !notes_.empty(); }, RealClock().Now() + kPatience);
    if (notes_.empty()) return "nothing came";
    std::string note = notes_.front();
    notes_.pop_front();
    return note;
  }

 private:
  void Note(std::string note) {
    MutexLock lock(&monitor_.mu);
    notes_.push_back(std::move(note));
    monitor_.changed.NotifyAll();
  }
  Monitor monitor_;
  std::deque<std::string> notes_;
};

AgentOptions OptionsFor(const std::string& address) {
  AgentOptions options;
  options.coordinator = address;
  options.registration.set_worker_id("w0");
  options.registration.set_incarnation(3);
  options.backoff.initial = absl::Milliseconds(5);
  options.backoff.max = absl::Milliseconds(50);
  return options;
}

WorkerMessage Finished(const std::string& job) {
  WorkerMessage message;
  message.mutable_finished()->set_job_id(job);
  return message;
}

bool IsHeartbeat(const WorkerMessage& m) {
  return m.has_heartbeat();
}

TEST(Agent, RegistersPassesOrdersOnAndDeliversReports) {
  FakeCoordinator coordinator;
  RecordingHandler handler;
  auto agent =
      Agent::Start(OptionsFor(coordinator.address()), handler, RealClock(), NullMetricSink());
  const auto hello = coordinator.Expect([](const WorkerMessage& m) { return m.has_register_(); });
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->register_().worker_id(), "w0");
  EXPECT_EQ(hello->register_().protocol_version(), 1u);
  EXPECT_EQ(handler.Next(), "registered fake");
  EXPECT_TRUE(agent->connected());

  CoordinatorMessage order;
  order.mutable_assign()->set_job_id("j1");
  ASSERT_TRUE(coordinator.Order(order));
  order.mutable_begin()->set_job_id("j1");
  ASSERT_TRUE(coordinator.Order(order));
  order.mutable_stop()->set_job_id("j1");
  ASSERT_TRUE(coordinator.Order(order));
  EXPECT_EQ(handler.Next(), "assign j1");
  EXPECT_EQ(handler.Next(), "begin j1");
  EXPECT_EQ(handler.Next(), "stop j1");

  agent->Send(Finished("j1"));
  EXPECT_TRUE(
      coordinator.Expect([](const WorkerMessage& m) { return m.finished().job_id() == "j1"; }));
}

TEST(Agent, HeartbeatsKeepComingWithGrowingNumbers) {
  FakeCoordinator coordinator;
  RecordingHandler handler;
  auto agent =
      Agent::Start(OptionsFor(coordinator.address()), handler, RealClock(), NullMetricSink());
  uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const auto beat = coordinator.Expect(IsHeartbeat);
    ASSERT_TRUE(beat.has_value());
    EXPECT_GT(beat->heartbeat().sequence(), last);
    last = beat->heartbeat().sequence();
  }
}

TEST(Agent, WaitsForACoordinatorThatStartsLater) {
  std::string address;
  {
    FakeCoordinator probe;  // a free port
    address = probe.address();
  }
  RecordingHandler handler;
  auto agent = Agent::Start(OptionsFor(address), handler, RealClock(), NullMetricSink());
  agent->Send(Finished("kept"));
  FakeCoordinator coordinator(address);
  EXPECT_EQ(handler.Next(), "registered fake");
  EXPECT_TRUE(coordinator.Expect([](const WorkerMessage& m) { return m.has_finished(); }));
}

TEST(Agent, ComesBackAfterABreakAndLosesNoReport) {
  FakeCoordinator coordinator;
  RecordingHandler handler;
  auto agent =
      Agent::Start(OptionsFor(coordinator.address()), handler, RealClock(), NullMetricSink());
  EXPECT_EQ(handler.Next(), "registered fake");
  coordinator.Cut();
  EXPECT_EQ(handler.Next(), "disconnected");
  agent->Send(Finished("during the break"));
  EXPECT_EQ(handler.Next(), "registered fake");
  EXPECT_TRUE(coordinator.Expect([](const WorkerMessage& m) { return m.has_finished(); }));
}

TEST(Agent, GivesUpWhenTheCoordinatorStaysAway) {
  std::string address;
  {
    FakeCoordinator probe;
    address = probe.address();
  }
  AgentOptions options = OptionsFor(address);
  options.timeout = absl::Milliseconds(200);
  RecordingHandler handler;
  auto agent = Agent::Start(options, handler, RealClock(), NullMetricSink());
  const std::string note = handler.Next();
  EXPECT_THAT(note, HasSubstr("given up UNAVAILABLE"));
  EXPECT_THAT(note, HasSubstr(address));
}

TEST(Agent, GivesUpAtOnceWhenItIsRefused) {
  FakeCoordinator coordinator;
  coordinator.refuse_with =
      grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "protocol 1, yours 2");
  RecordingHandler handler;
  auto agent =
      Agent::Start(OptionsFor(coordinator.address()), handler, RealClock(), NullMetricSink());
  const std::string note = handler.Next();
  EXPECT_THAT(note, HasSubstr("given up FAILED_PRECONDITION"));
  EXPECT_THAT(note, HasSubstr("protocol 1, yours 2"));
}

TEST(Agent, TriesOnWhileANamesakeHoldsItsIdAndSaysSoOnce) {
  FakeCoordinator coordinator;
  coordinator.refuse_with =
      grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "w0 is on host h, pid 5");
  AgentOptions options = OptionsFor(coordinator.address());
  options.timeout = absl::Milliseconds(500);
  RecordingHandler handler;
  auto agent = Agent::Start(options, handler, RealClock(), NullMetricSink());
  EXPECT_EQ(handler.Next(), "disconnected");
  const std::string note = handler.Next();
  EXPECT_THAT(note, HasSubstr("given up UNAVAILABLE"));  // exit 69
  EXPECT_THAT(note, HasSubstr("w0 is on host h, pid 5"));
}

TEST(Agent, SaysGoodByeWhenItLeaves) {
  FakeCoordinator coordinator;
  RecordingHandler handler;
  auto agent =
      Agent::Start(OptionsFor(coordinator.address()), handler, RealClock(), NullMetricSink());
  EXPECT_EQ(handler.Next(), "registered fake");
  agent->Send(Finished("last words"));
  agent->Leave("terminated", RealClock().Now() + kPatience);
  EXPECT_TRUE(coordinator.Expect([](const WorkerMessage& m) { return m.has_finished(); }));
  const auto bye = coordinator.Expect([](const WorkerMessage& m) { return m.has_leaving(); });
  ASSERT_TRUE(bye.has_value());
  EXPECT_EQ(bye->leaving().reason(), "terminated");
}

TEST(Agent, EndsWhileItIsStillLookingForTheCoordinator) {
  RecordingHandler handler;
  // A port of the discard range that nothing listens on: every attempt fails or hangs.
  auto agent = Agent::Start(OptionsFor("127.0.0.1:9"), handler, RealClock(), NullMetricSink());
  agent->Leave("never mind", RealClock().Now() + kPatience);
  agent = nullptr;
}

}  // namespace
}  // namespace gg
