// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/job_runner.h"

#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/schedule/schedule.h"
#include "core/spec/exchange_use.h"
#include "core/spec/validate.h"
#include "core/status.h"
#include "proto/codec/job_spec_codec.h"
#include "proto/codec/view_codec.h"
#include "worker/daemon/fingerprint.h"
#include "worker/daemon/job_reporter.h"
#include "worker/exchange/exchange.h"
#include "worker/exchange/schedule_of.h"
#include "worker/nn/network.h"
#include "worker/train/batch_shares.h"

namespace gg {

using gossipgrad::v1::WorkerMessage;

namespace {

// How long the links stay open after the end of a job, unless the coordinator says that everybody
// is done: a partner may still be reading what this worker has sent.
constexpr absl::Duration kLinger = absl::Seconds(15);

// What the coordinator needs beyond its own start time-out to say Begin or Stop.
constexpr absl::Duration kBeginMargin = absl::Seconds(30);

uint64_t FingerprintOfSchedule(const JobSpec& spec, const View& view) {
  if (!IsUsed(spec.exchange, "spec.exchange.schedule")) return 0;
  const auto schedule = ScheduleOf(spec.exchange, spec.train.seed, view.size(), &view);
  // An algorithm that needs the schedule refuses the job by itself, with the reason.
  return schedule.ok() ? ScheduleFingerprint(**schedule) : 0;
}

absl::Status CheckPlace(const View& view, Rank rank, absl::string_view worker_id) {
  if (rank < 0 || rank >= view.size() ||
      view.members[static_cast<size_t>(rank)].worker_id != worker_id) {
    return absl::InvalidArgumentError(absl::StrCat("worker ", worker_id, " does not have rank ",
                                                   rank, " in view ", view.number, " of ",
                                                   view.size()));
  }
  return absl::OkStatus();
}

}  // namespace

JobRunner::JobRunner(JobRunnerParts parts)
    : parts_(std::move(parts)), thread_([this] { Loop(); }) {}

JobRunner::~JobRunner() {
  Shutdown("the worker ends", absl::InfiniteFuture());
  thread_.join();
}

void JobRunner::Assign(const gossipgrad::v1::Assign& assign) {
  MutexLock lock(&monitor_.mu);
  if (shutdown_) return;
  next_ = assign;
  if (current_.has_value()) {
    current_->released = true;
    StopLocked(absl::AbortedError(absl::StrCat("job ", assign.job_id(), " takes its place")));
  }
  monitor_.changed.NotifyAll();
}

void JobRunner::Begin(const gossipgrad::v1::Begin& begin) {
  MutexLock lock(&monitor_.mu);
  if (!current_.has_value() || current_->job_id != begin.job_id() || current_->view != begin.view())
    return;
  current_->begun = true;
  monitor_.changed.NotifyAll();
}

void JobRunner::Stop(const gossipgrad::v1::Stop& stop) {
  MutexLock lock(&monitor_.mu);
  if (next_.has_value() && next_->job_id() == stop.job_id()) next_.reset();
  if (!current_.has_value() || current_->job_id != stop.job_id()) return;
  current_->released = true;
  StopLocked(
      absl::CancelledError(stop.reason().empty() ? "stopped by the coordinator" : stop.reason()));
}

bool JobRunner::Shutdown(const std::string& reason, absl::Time deadline) {
  MutexLock lock(&monitor_.mu);
  shutdown_ = true;
  next_.reset();
  if (current_.has_value()) {
    current_->released = true;
    StopLocked(absl::CancelledError(reason));
  }
  monitor_.changed.NotifyAll();
  return parts_.clock->Await(
      monitor_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ended_; }, deadline);
}

void JobRunner::StopLocked(absl::Status why) {
  if (current_->stop.ok()) current_->stop = why;
  if (current_->interrupt) current_->interrupt(std::move(why));
  monitor_.changed.NotifyAll();
}

absl::Status JobRunner::StopReason() {
  MutexLock lock(&monitor_.mu);
  return current_->stop;
}

void JobRunner::SetInterrupt(std::function<void(absl::Status)> interrupt) {
  MutexLock lock(&monitor_.mu);
  current_->interrupt = std::move(interrupt);
  if (current_->interrupt && !current_->stop.ok()) current_->interrupt(current_->stop);
}

void JobRunner::Loop() {
  while (true) {
    gossipgrad::v1::Assign assign;
    {
      MutexLock lock(&monitor_.mu);
      parts_.clock->Await(
          monitor_,
          [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return shutdown_ || next_.has_value(); },
          absl::InfiniteFuture());
      if (shutdown_) {
        ended_ = true;
        monitor_.changed.NotifyAll();
        return;
      }
      assign = *std::move(next_);
      next_.reset();
      current_.emplace();
      current_->job_id = assign.job_id();
      current_->view = assign.view().number();
    }
    RunJob(assign);
    MutexLock lock(&monitor_.mu);
    current_.reset();
  }
}

void JobRunner::RunJob(const gossipgrad::v1::Assign& assign) {
  parts_.log->Info("job assigned", {{"job", assign.job_id()},
                                    {"name", assign.spec().name()},
                                    {"rank", absl::StrCat(assign.rank())},
                                    {"workers", absl::StrCat(assign.view().members_size())}});
  absl::Status status;
  try {
    status = Execute(assign);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("not enough memory for this job's data and network");
  }
  if (const absl::Status stopped = StopReason(); !status.ok() && !stopped.ok()) {
    parts_.log->Info("job stopped",
                     {{"job", assign.job_id()}, {"reason", std::string(stopped.message())}});
    return;
  }
  if (status.ok()) return;
  parts_.log->Error("job failed", {{"job", assign.job_id()}, {"reason", status.ToString()}});
  WorkerMessage message;
  message.mutable_failed()->set_job_id(assign.job_id());
  message.mutable_failed()->set_view(assign.view().number());
  message.mutable_failed()->set_code(static_cast<int>(status.code()));
  message.mutable_failed()->set_message(std::string(status.message()));
  parts_.send(std::move(message));
}

absl::Status JobRunner::Execute(const gossipgrad::v1::Assign& assign) {
  const JobSpec spec = FromProto(assign.spec());
  GG_ASSIGN_OR_RETURN(const View view, FromProto(assign.view()));
  GG_RETURN_IF_ERROR(CheckPlace(view, assign.rank(), parts_.worker_id));
  parts_.metrics->BeginJob(spec.name);
  const auto end_series = absl::MakeCleanup([this] { parts_.metrics->EndJob(); });
  // Their transport is no value that the catalogue could know: shown from the start as well.
  for (const CounterId id :
       {CounterId::kGossipMessages, CounterId::kGossipBytes, CounterId::kTransportBytes}) {
    for (const absl::string_view direction : {"sent", "received"}) {
      parts_.metrics->Add(id, 0, {direction, parts_.transport->name()});
    }
  }
  parts_.metrics->Set(GaugeId::kRank, assign.rank());
  parts_.metrics->Set(GaugeId::kMembershipEpoch, static_cast<double>(view.number));
  for (const std::string& warning : ExchangeWarnings(spec.exchange, view.size())) {
    if (assign.rank() == 0) parts_.log->Warning(warning, {{"job", assign.job_id()}});
  }
  std::unique_ptr<Device> own_device;
  GG_ASSIGN_OR_RETURN(Device* const device, DeviceFor(spec.workers, own_device));
  // Ends before the device: buffers lent to it live until it has finished with them.
  std::unique_ptr<PeerGroup> group;
  if (view.size() > 1) {
    absl::StatusOr<std::unique_ptr<PeerGroup>> joined =
        parts_.transport->Join(assign.job_id(), view, assign.rank());
    if (!joined.ok()) return Annotate(joined.status(), "joining the view");
    group = *std::move(joined);
  }
  GG_RETURN_IF_ERROR(Train(assign, spec, view, *device, group.get()));
  if (group != nullptr) Linger();
  return absl::OkStatus();
}

absl::Status JobRunner::Train(const gossipgrad::v1::Assign& assign, const JobSpec& spec,
                              const View& view, Device& device, PeerGroup* group) {
  GG_ASSIGN_OR_RETURN(const LoadedData data, datasets_.Get(spec.data, spec.train.seed));
  GG_RETURN_IF_ERROR(StopReason());
  const SampleShape& shape = data.train->shape;
  const auto make_network = [&](int64_t batch_size) {
    return MakeNetwork(device, {.model = spec.model,
                                .input = {shape.channels, shape.height, shape.width},
                                .classes = data.train->classes,
                                .batch_size = batch_size,
                                .seed = spec.train.seed,
                                .rank = assign.rank()});
  };
  GG_ASSIGN_OR_RETURN(std::unique_ptr<Network> network, make_network(spec.train.batch_size));
  JobReporter reporter({.job_id = assign.job_id(),
                        .view = view.number,
                        .transport = std::string(parts_.transport->name()),
                        .group = group,
                        .metrics = parts_.metrics,
                        .log = parts_.log,
                        .send = parts_.send});
  const auto make_trainer = [&](std::vector<int64_t> batches) {
    return Trainer::Make({.spec = spec,
                          .size = view.size(),
                          .rank = assign.rank(),
                          .device = &device,
                          .batches = std::move(batches),
                          .network = network.get(),
                          .group = group,
                          .transport = std::string(parts_.transport->name()),
                          .train = data.train,
                          .test = data.test,
                          .clock = parts_.clock,
                          .metrics = parts_.metrics,
                          .reporter = &reporter});
  };
  GG_ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer, make_trainer({}));
  const auto unset = absl::MakeCleanup([this] { SetInterrupt(nullptr); });

  WorkerMessage message;
  auto& prepared = *message.mutable_prepared();
  prepared.set_job_id(assign.job_id());
  prepared.set_view(view.number);
  prepared.set_schedule_fingerprint(FingerprintOfSchedule(spec, view));
  prepared.set_data_fingerprint(data.fingerprint);
  prepared.set_model_fingerprint(ModelFingerprint(network->arena()));
  prepared.set_parameter_count(network->arena().parameter_count());
  prepared.set_steps_per_epoch(trainer->plan().steps_per_epoch);
  prepared.set_total_steps(trainer->plan().total_steps);
  prepared.set_transport(group == nullptr ? std::string("none (one worker)")
                                          : group->DescribePeer(assign.rank() == 0 ? 1 : 0));
  parts_.log->Info("job prepared", {{"job", assign.job_id()},
                                    {"parameters", absl::StrCat(prepared.parameter_count())},
                                    {"steps", absl::StrCat(prepared.total_steps())},
                                    {"device", std::string(device.name())},
                                    {"transport", prepared.transport()}});
  parts_.send(std::move(message));
  GG_RETURN_IF_ERROR(
      WaitForBegin(absl::Seconds(spec.workers.start_timeout_seconds) + kBeginMargin));
  parts_.log->Info("job running", {{"job", assign.job_id()}});
  if (spec.exchange.proportional_batches && group != nullptr) {
    // Now that all are here: a worker is as fast as it is next to the others.
    trainer.reset();
    GG_ASSIGN_OR_RETURN(std::vector<int64_t> batches,
                        AgreeOnBatches(spec, *network, *data.train, device, *group));
    GG_ASSIGN_OR_RETURN(network, make_network(batches[static_cast<size_t>(assign.rank())]));
    GG_ASSIGN_OR_RETURN(trainer, make_trainer(std::move(batches)));
  }
  SetInterrupt([&trainer](absl::Status why) { trainer->Stop(std::move(why)); });
  GG_ASSIGN_OR_RETURN(const TrainingResult result, trainer->Run());
  parts_.log->Info("job finished", {{"job", assign.job_id()},
                                    {"steps", absl::StrCat(result.steps)},
                                    {"train_seconds", absl::StrCat(result.train_seconds)},
                                    {"replica_accuracy", absl::StrCat(result.replica_accuracy)}});
  reporter.Finished(result);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> JobRunner::AgreeOnBatches(const JobSpec& spec,
                                                               Network& network,
                                                               const Dataset& train, Device& device,
                                                               PeerGroup& group) {
  GG_ASSIGN_OR_RETURN(const double own,
                      MeasureSpeed(network, train, spec.data.mean, spec.data.stddev, *parts_.clock,
                                   [this] { return StopReason(); }));
  SpeedTable table(device, group, *parts_.clock);
  const auto unset = absl::MakeCleanup([this] { SetInterrupt(nullptr); });
  SetInterrupt([&table](absl::Status why) { table.Abort(std::move(why)); });
  GG_ASSIGN_OR_RETURN(
      const std::vector<float> speeds,
      table.Run(own, parts_.clock->Now() + absl::Seconds(spec.exchange.collective_seconds)));
  GG_ASSIGN_OR_RETURN(std::vector<int64_t> batches,
                      ShareBatches(speeds, spec.train.batch_size, LeastBatch(spec.model)));
  parts_.log->Info("batches in proportion to speed",
                   {{"samples_per_second", absl::StrCat(own)},
                    {"batch_sizes_by_rank", absl::StrJoin(batches, ",")}});
  return batches;
}

absl::StatusOr<Device*> JobRunner::DeviceFor(const WorkersSpec& spec,
                                             std::unique_ptr<Device>& own) const {
  const std::string name = spec.device == "auto" ? parts_.device_name : spec.device;
  const int threads = spec.threads > 0 ? static_cast<int>(spec.threads) : parts_.threads;
  if (name == parts_.device_name && threads == parts_.threads) return parts_.device.get();
  GG_ASSIGN_OR_RETURN(own, MakeDevice(name, {.threads = threads}));
  return own.get();
}

absl::Status JobRunner::WaitForBegin(absl::Duration patience) {
  MutexLock lock(&monitor_.mu);
  parts_.clock->Await(
      monitor_,
      [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return current_->begun || !current_->stop.ok(); },
      parts_.clock->Now() + patience);
  if (!current_->stop.ok()) return current_->stop;
  if (current_->begun) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat(
      "the coordinator said neither Begin nor Stop within ", absl::FormatDuration(patience)));
}

void JobRunner::Linger() {
  MutexLock lock(&monitor_.mu);
  parts_.clock->Await(
      monitor_, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return current_->released; },
      parts_.clock->Now() + kLinger);
}

}  // namespace gg
