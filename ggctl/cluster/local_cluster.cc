// SPDX-License-Identifier: Apache-2.0
#include "ggctl/cluster/local_cluster.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/clock.h"
#include "core/status.h"
#include "platform/cpu_quota.h"
#include "platform/host.h"

namespace gg {
namespace {

constexpr char kCoordinator[] = "coordinator";
constexpr absl::Duration kPortFilePoll = absl::Milliseconds(20);
constexpr std::streamoff kTailBytes = 16 * 1024;

// The address in a port file; "" while the file is not there or not whole yet.
std::string ReadAddress(const std::string& path) {
  std::ifstream in(path);
  if (!in) return "";
  const auto json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "";
  const auto grpc = json.find("grpc");
  return grpc != json.end() && grpc->is_string() ? grpc->get<std::string>() : "";
}

}  // namespace

std::string LocalProcess::ToString() const {
  return absl::StrCat(name, " (pid ", pid, ")", exit.has_value() ? " " : "",
                      exit.has_value() ? exit->ToString() : "");
}

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Prepare(
    const LocalClusterOptions& options, Signals* signals) {
  auto cluster = std::unique_ptr<LocalCluster>(new LocalCluster(options, signals));
  cluster->bin_folder_ = options.bin_folder.empty() ? ExecutableFolder() : options.bin_folder;
  for (const char* program : {"gg-coordinator", "gg-worker"}) {
    const std::string path = cluster->ProgramPath(program);
    if (access(path.c_str(), X_OK) != 0) {
      return absl::NotFoundError(absl::StrCat("cannot find ", program, " in ", cluster->bin_folder_,
                                              "; name its folder with --bin-dir"));
    }
  }
  std::error_code error;
  const std::string parent = std::filesystem::temp_directory_path(error).string();
  TempFolder::RemoveAbandoned(error ? "/tmp" : parent);
  GG_ASSIGN_OR_RETURN(cluster->folder_, TempFolder::Make(error ? "/tmp" : parent));
  if (options.keep_logs) cluster->folder_->Keep();
  cluster->log_folder_ = options.log_folder.empty() ? cluster->folder_->path() : options.log_folder;
  std::filesystem::create_directories(cluster->log_folder_, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot make the log folder ", cluster->log_folder_, ": ", error.message()));
  }
  cluster->threads_ = options.threads > 0
                          ? options.threads
                          : std::max(1, UsableCpus() / std::max(1, options.workers));
  return cluster;
}

LocalCluster::~LocalCluster() {
  SignalAll(SIGKILL);
  for (const auto& process : processes_) {
    if (!process->exit.has_value()) waitpid(process->pid, nullptr, 0);
  }
}

std::string LocalCluster::ProgramPath(const char* program) const {
  return absl::StrCat(bin_folder_, "/", program);
}

absl::Status LocalCluster::StartProcess(const std::string& name, std::vector<std::string> argv,
                                        std::vector<std::string> environment) {
  SpawnOptions spawn;
  spawn.argv = std::move(argv);
  spawn.environment = std::move(environment);
  spawn.log_path = absl::StrCat(log_folder_, "/", name, ".log");
  std::error_code ignored;
  std::filesystem::remove(spawn.log_path, ignored);  // of an earlier run in the same log folder
  GG_ASSIGN_OR_RETURN(const pid_t pid, Spawn(spawn));
  auto process = std::make_unique<LocalProcess>();
  process->name = name;
  process->pid = pid;
  process->log_path = spawn.log_path;
  processes_.push_back(std::move(process));
  return absl::OkStatus();
}

absl::Status LocalCluster::StartCoordinator(absl::Duration timeout) {
  const std::string port_file = absl::StrCat(folder(), "/coordinator.json");
  GG_RETURN_IF_ERROR(
      StartProcess(kCoordinator,
                   {ProgramPath("gg-coordinator"), "--listen", "127.0.0.1:0", "--http-listen",
                    "127.0.0.1:0", "--store", absl::StrCat(folder(), "/store.db"), "--port-file",
                    port_file, "--lease-seconds", absl::StrCat(options_.lease_seconds),
                    "--heartbeat-seconds", absl::StrCat(options_.heartbeat_seconds)},
                   {}));
  const absl::Time deadline = RealClock().Now() + timeout;
  while (RealClock().Now() < deadline) {
    address_ = ReadAddress(port_file);
    if (!address_.empty()) return absl::OkStatus();
    if (!Reap().empty()) return absl::UnavailableError(processes_.front()->ToString());
    if (Signals::IsStop(signals_->Wait(kPortFilePoll))) return absl::CancelledError("interrupted");
  }
  return absl::DeadlineExceededError(absl::StrCat(
      processes_.front()->ToString(), " did not listen within ", absl::FormatDuration(timeout)));
}

absl::Status LocalCluster::StartWorkers() {
  for (int i = 0; i < options_.workers; ++i) {
    const std::string name = absl::StrCat("worker-", i);
    // Waiting OpenMP threads that spin would take the CPU from the other workers of this machine.
    std::vector<std::string> argv = {ProgramPath("gg-worker"),
                                     "--coordinator",
                                     address_,
                                     "--worker-id",
                                     name,
                                     "--listen",
                                     "127.0.0.1:0",
                                     "--http-listen",
                                     "127.0.0.1:0",
                                     "--threads",
                                     absl::StrCat(threads_),
                                     "--port-file",
                                     absl::StrCat(folder(), "/", name, ".json")};
    for (const auto& [label, values] : options_.topology) {
      argv.push_back("--topology");
      argv.push_back(absl::StrCat(label, "=", values[static_cast<size_t>(i)]));
    }
    GG_RETURN_IF_ERROR(
        StartProcess(name, std::move(argv),
                     {"OMP_WAIT_POLICY=passive", absl::StrCat("OMP_NUM_THREADS=", threads_)}));
  }
  return absl::OkStatus();
}

std::vector<const LocalProcess*> LocalCluster::Reap() {
  std::vector<const LocalProcess*> ended;
  for (const auto& process : processes_) {
    if (process->exit.has_value()) continue;
    process->exit = TryReap(process->pid);
    if (process->exit.has_value()) ended.push_back(process.get());
  }
  return ended;
}

bool LocalCluster::coordinator_runs() const {
  return !processes_.empty() && processes_.front()->name == kCoordinator &&
         !processes_.front()->exit.has_value();
}

bool LocalCluster::AnyRuns() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const auto& p) { return !p->exit.has_value(); });
}

void LocalCluster::SignalAll(int signal) {
  for (const auto& process : processes_) {
    // The group may not exist yet when the child is still on its way to exec.
    if (!process->exit.has_value() && kill(-process->pid, signal) != 0) kill(process->pid, signal);
  }
}

void LocalCluster::Stop(absl::Duration grace) {
  SignalAll(SIGTERM);
  SignalAll(SIGCONT);  // a stopped process would not see the other one
  const absl::Time deadline = RealClock().Now() + grace;
  bool killed = false;
  while (true) {
    Reap();
    if (!AnyRuns()) return;
    const absl::Duration left = deadline - RealClock().Now();
    if (!killed && left <= absl::ZeroDuration()) {
      SignalAll(SIGKILL);
      killed = true;
    }
    // The upper bound covers a SIGCHLD that was merged with another one.
    const int signal =
        signals_->Wait(killed ? absl::Milliseconds(100) : std::min(left, absl::Milliseconds(100)));
    if (!killed && Signals::IsStop(signal)) {
      SignalAll(SIGKILL);
      killed = true;
    }
  }
}

std::vector<std::string> LogTail(const std::string& path, size_t lines) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const std::streamoff size = in.tellg();
  const std::streamoff start = std::max<std::streamoff>(0, size - kTailBytes);
  in.seekg(start);
  std::string text(static_cast<size_t>(size - start), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  std::vector<std::string> all = absl::StrSplit(text, '\n', absl::SkipEmpty());
  if (start > 0 && !all.empty()) all.erase(all.begin());  // cut in the middle
  if (all.size() > lines) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(lines));
  return all;
}

}  // namespace gg
