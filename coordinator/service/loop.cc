// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/loop.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/service/wire.h"
#include "core/status.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

constexpr char kGoingDown[] = "the coordinator is shutting down";
constexpr char kNotServing[] = "the coordinator is not serving";

// A disk that is full keeps its own code: it is no sign of an unreachable coordinator.
absl::Status CannotWrite(const JobStore& store, const absl::Status& cause) {
  const bool full = absl::IsResourceExhausted(cause);
  return absl::Status(full ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable,
                      absl::StrCat("the coordinator's store ", store.name(), " cannot be written: ",
                                   full ? "disk is full" : cause.message()));
}

bool IsRequest(const Input& input) {
  return std::holds_alternative<input::SubmitJob>(input) ||
         std::holds_alternative<input::CancelJob>(input);
}

ClusterState Empty(const ClusterOptions& options) {
  ClusterState state;
  state.options = options;
  return state;
}

}  // namespace

CoordinatorLoop::CoordinatorLoop(LoopOptions options, std::unique_ptr<JobStore> store, Clock* clock,
                                 MetricSink* metrics)
    : options_(std::move(options)),
      store_(std::move(store)),
      clock_(clock),
      metrics_(metrics),
      born_(clock->Now()),
      ready_(absl::UnavailableError(kNotServing)),
      state_(Empty(options_.cluster)),
      gauges_(metrics),
      ids_(options_.entropy, "coordinator/job-id") {}

CoordinatorLoop::~CoordinatorLoop() {
  Stop();
}

absl::Status CoordinatorLoop::Start() {
  GG_RETURN_IF_ERROR(store_->Replay([this](const Event& event) {
    Apply(event, &state_);
    return absl::OkStatus();
  }));
  const absl::Time now = Advance(clock_->Now());
  while (!Handle(input::Recovered{}, now).events.empty()) {
  }
  if (!backlog_.empty()) {
    return absl::FailedPreconditionError(store_ok_.message());
  }
  last_round_ = now;
  last_round_ms_ = absl::ToUnixMillis(now);
  {
    MutexLock lock(&monitor_.mu);
    closed_ = false;
  }
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void CoordinatorLoop::Stop() {
  {
    MutexLock lock(&monitor_.mu);
    stopping_ = true;
    monitor_.changed.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

bool CoordinatorLoop::Enqueue(Work work) {
  MutexLock lock(&monitor_.mu);
  if (closed_ || queue_.size() >= options_.queue_max) return false;
  queue_.push_back({clock_->Now(), std::move(work)});
  monitor_.changed.NotifyAll();
  return true;
}

bool CoordinatorLoop::Post(Input input, Done done) {
  return Enqueue([this, input = std::move(input), done = std::move(done)](absl::Time now) mutable {
    const Decision decision = Handle(input, now);
    if (done) done(decision, state_);
  });
}

bool CoordinatorLoop::Submit(std::string request_id, JobSpec spec, Done done) {
  return Enqueue([this, request_id = std::move(request_id), spec = std::move(spec),
                  done = std::move(done)](absl::Time now) mutable {
    const std::string id =
        absl::StrCat("j-", absl::Hex(ids_.NextU64() & 0xffffffffffff, absl::kZeroPad12));
    done(Handle(input::SubmitJob{id, std::move(request_id), std::move(spec)}, now), state_);
  });
}

bool CoordinatorLoop::Ask(Query query) {
  return Enqueue([this, query = std::move(query)](absl::Time) mutable { query(state_); });
}

uint64_t CoordinatorLoop::OpenSession(std::shared_ptr<WorkerPort> port) {
  const uint64_t session = ++last_session_;
  const bool queued = Enqueue([this, session, port = std::move(port)](absl::Time now) mutable {
    if (sessions_.size() >= options_.streams_max) {
      port->HangUp(absl::ResourceExhaustedError(
          absl::StrCat("the coordinator serves ", options_.streams_max, " workers at most")));
      return;
    }
    sessions_[session] = {std::move(port), now, false};
  });
  return queued ? session : 0;
}

void CoordinatorLoop::CloseSession(uint64_t session) {
  // A full queue must not keep a dead stream for ever: DropSilentSessions and the lease take care
  // of it then.
  Enqueue([this, session](absl::Time) { sessions_.erase(session); });
}

bool CoordinatorLoop::Watch(std::string name, std::shared_ptr<WatchPort> port) {
  return Enqueue([this, name = std::move(name), port = std::move(port)](absl::Time) mutable {
    const Job* job = FindJob(state_, name);
    if (job == nullptr) {
      port->End(absl::NotFoundError(absl::StrCat("no job has the name or id ", name)));
    } else if (watchers_.size() >= options_.streams_max) {
      port->End(absl::ResourceExhaustedError(
          absl::StrCat("the coordinator serves ", options_.streams_max, " watchers at most")));
    } else {
      watchers_.push_back({std::move(port), job->id, 0, absl::InfinitePast()});
    }
  });
}

absl::Status CoordinatorLoop::Live() const {
  const absl::Duration silent =
      clock_->Now() - absl::FromUnixMillis(last_round_ms_.load(std::memory_order_relaxed));
  if (silent < absl::Seconds(10)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the loop has not gone round for ", absl::FormatDuration(silent)));
}

absl::Status CoordinatorLoop::Ready() const {
  {
    MutexLock lock(&ready_mu_);
    if (!ready_.ok()) return ready_;
  }
  return Live();
}

void CoordinatorLoop::Run() {
  SetReady(store_ok_);
  bool stopping = false;
  while (!stopping) {
    std::deque<Item> items;
    {
      MutexLock lock(&monitor_.mu);
      clock_->Await(
          monitor_,
          [this]()
              ABSL_EXCLUSIVE_LOCKS_REQUIRED(monitor_.mu) { return stopping_ || !queue_.empty(); },
          last_round_ + options_.tick);
      items.swap(queue_);
      stopping = stopping_;
      if (stopping) closed_ = true;  // what came until here still runs
    }
    GoRound(std::move(items));
  }
  SetReady(absl::UnavailableError(kNotServing));
  SayGoodbye();
}

void CoordinatorLoop::GoRound(std::deque<Item> items) {
  const absl::Time began = clock_->Now();
  const absl::Duration stalled = began - last_round_ - options_.tick;
  for (Item& item : items) item.work(Advance(item.arrived));
  if (!store_ok_.ok()) ProbeStore();
  const absl::Time now = Advance(clock_->Now());
  input::Tick tick{std::max(stalled, absl::ZeroDuration())};
  while (!Handle(tick, now).events.empty()) tick.stalled = absl::ZeroDuration();
  DropSilentSessions(now);
  ShowWatchers(now);
  gauges_.Update(state_, store_->Bytes(), now);
  last_round_ = now;
  last_round_ms_.store(absl::ToUnixMillis(now), std::memory_order_relaxed);
}

absl::Time CoordinatorLoop::Advance(absl::Time time) {
  now_ = std::max(now_, time);
  return now_;
}

Decision CoordinatorLoop::Handle(const Input& input, absl::Time now) {
  Decision decision = Decide(state_, input, now);
  std::vector<Event> durable;
  for (const Event& event : decision.events) {
    if (IsDurable(event)) durable.push_back(event);
  }
  if (!durable.empty()) {
    const absl::Status stored = Persist(durable, IsRequest(input));
    if (!stored.ok()) {
      Decision refused;
      refused.status =
          absl::Status(stored.code(), absl::StrCat(stored.message(), "; nothing was changed"));
      return refused;
    }
  }
  for (const Event& event : decision.events) Apply(event, &state_);
  for (const Command& command : decision.commands) Carry(command);
  gauges_.Count(decision);
  for (const std::string& line : decision.log) options_.log(false, line);
  return decision;
}

absl::Status CoordinatorLoop::Persist(const std::vector<Event>& events, bool is_request) {
  if (!backlog_.empty()) FlushBacklog();
  if (backlog_.empty()) {
    const absl::Time began = clock_->Now();
    NoteStore(store_->Append(events));
    metrics_->Observe(HistogramId::kStoreCommit, absl::ToDoubleSeconds(clock_->Now() - began));
  }
  if (store_ok_.ok()) return absl::OkStatus();
  if (is_request) return store_ok_;
  backlog_.insert(backlog_.end(), events.begin(), events.end());
  return absl::OkStatus();
}

void CoordinatorLoop::FlushBacklog() {
  const absl::Status status = store_->Append(backlog_);
  if (status.ok()) {
    options_.log(false, absl::StrCat(backlog_.size(), " changes reached the store after all"));
    backlog_.clear();
  }
  NoteStore(status);
}

void CoordinatorLoop::ProbeStore() {
  if (clock_->Now() < next_probe_) return;
  if (backlog_.empty()) {
    NoteStore(store_->Probe());
  } else {
    FlushBacklog();
  }
  next_probe_ = clock_->Now() + options_.probe_interval;
}

void CoordinatorLoop::NoteStore(const absl::Status& status) {
  const absl::Status now = status.ok() ? status : CannotWrite(*store_, status);
  if (now == store_ok_) return;
  const bool changed = now.ok() != store_ok_.ok();
  store_ok_ = now;
  SetReady(now);
  if (!changed) return;
  if (now.ok()) {
    options_.log(false, absl::StrCat("the coordinator's store ", store_->name(), " works again"));
  } else {
    options_.log(true, absl::StrCat(now.message(),
                                    "; requests are refused, what happens to running jobs is kept "
                                    "in memory until it works again"));
  }
}

void CoordinatorLoop::Carry(const Command& command) {
  const auto session = sessions_.find(command.session);
  if (session == sessions_.end()) return;
  WorkerPort& port = *session->second.port;
  if (std::holds_alternative<command::Welcome>(command.body)) {
    session->second.registered = true;
    v1::CoordinatorMessage message;
    v1::Registered* registered = message.mutable_registered();
    registered->set_coordinator_id(options_.coordinator_id);
    registered->set_lease_seconds(absl::ToDoubleSeconds(options_.cluster.lease));
    registered->set_heartbeat_seconds(absl::ToDoubleSeconds(options_.cluster.heartbeat));
    port.Send(std::move(message));
  } else if (const auto* assign = std::get_if<command::Assign>(&command.body)) {
    port.Send(ToWire(*assign));
  } else if (const auto* begin = std::get_if<command::Begin>(&command.body)) {
    port.Send(ToWire(*begin));
  } else if (const auto* stop = std::get_if<command::Stop>(&command.body)) {
    port.Send(ToWire(*stop));
  } else if (const auto* hang_up = std::get_if<command::HangUp>(&command.body)) {
    port.HangUp(hang_up->why);
    sessions_.erase(session);
  }
}

void CoordinatorLoop::DropSilentSessions(absl::Time now) {
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    if (it->second.registered || now - it->second.opened < options_.register_timeout) {
      ++it;
      continue;
    }
    it->second.port->HangUp(absl::DeadlineExceededError(
        absl::StrCat("no Register within ", absl::FormatDuration(options_.register_timeout))));
    it = sessions_.erase(it);
  }
}

void CoordinatorLoop::ShowWatchers(absl::Time now) {
  std::erase_if(watchers_, [&](Watcher& watcher) {
    if (watcher.port->gone()) return true;
    const Job* job = FindJobById(state_, watcher.job_id);
    if (job == nullptr) {
      watcher.port->End(
          absl::NotFoundError(absl::StrCat("job ", watcher.job_id, " is not kept any longer")));
      return true;
    }
    const bool final = IsFinal(job->state);
    const bool due = final || now - watcher.shown >= options_.watch_interval;
    if (job->revision == watcher.revision || !due) return false;
    v1::WatchJobResponse response;
    *response.mutable_job() = JobToWire(state_, *job, History::kWith);
    watcher.port->Show(std::move(response));
    watcher.revision = job->revision;
    watcher.shown = now;
    if (final) watcher.port->End(absl::OkStatus());
    return final;
  });
}

void CoordinatorLoop::SayGoodbye() {
  for (auto& [number, session] : sessions_) {
    session.port->HangUp(absl::UnavailableError(kGoingDown));
  }
  sessions_.clear();
  for (Watcher& watcher : watchers_) watcher.port->End(absl::UnavailableError(kGoingDown));
  watchers_.clear();
}

void CoordinatorLoop::SetReady(const absl::Status& ready) {
  bool changed = false;
  {
    MutexLock lock(&ready_mu_);
    changed = ready_.ok() != ready.ok();
    ready_ = ready;
  }
  if (changed) options_.on_ready(ready.ok());
}

}  // namespace gg
