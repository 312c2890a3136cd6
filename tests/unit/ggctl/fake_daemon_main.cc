// SPDX-License-Identifier: Apache-2.0
// Plays the daemons of `ggctl local run`. Called as gg-coordinator it serves a fake job whose
// course GG_FAKE_SCENARIO decides; called as gg-worker it runs until it is told to stop, or ends as
// GG_FAKE_WORKER says, and writes into the file GG_FAKE_PLACES where it was told to stand.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "tests/unit/ggctl/fake_job_service.h"

namespace gg {
namespace {

std::string Flag(int argc, char** argv, const std::string& name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return "";
}

std::string Env(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// Tells the test that this process is here.
void RegisterProcess() {
  std::ofstream(Env("GG_FAKE_PIDS"), std::ios::app) << getpid() << std::endl;
}

int RegisteredProcesses() {
  std::ifstream in(Env("GG_FAKE_PIDS"));
  int count = 0;
  for (int pid = 0; in >> pid;) ++count;
  return count;
}

void HoldUntilCancelled(grpc::ServerContext* context) {
  while (!context->IsCancelled()) usleep(1000);
}

int WaitForTerm(const sigset_t& set) {
  int signal = 0;
  sigwait(&set, &signal);
  return 0;
}

int Coordinator(int argc, char** argv, const sigset_t& set) {
  RegisterProcess();
  const std::string scenario = Env("GG_FAKE_SCENARIO");
  if (scenario == "no start") {
    std::cerr << "cannot open the store" << std::endl;
    return 70;
  }
  FakeJobService service;
  gossipgrad::v1::Job running = RunningJob("fashion-mlp");
  service.watch = {running};
  service.after_watch = HoldUntilCancelled;
  if (scenario == "refuse") {
    service.submit_status = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "not this one");
  } else if (scenario == "succeed") {
    service.watch.push_back(FinishedJob("fashion-mlp"));
    service.before_send = [](size_t index) {
      // A job cannot be over before its workers are there.
      while (index == 1 && RegisteredProcesses() < 3) usleep(1000);
    };
    service.after_watch = nullptr;
  } else if (scenario == "bad data") {
    running.set_state(gossipgrad::v1::JOB_STATE_FAILED);
    running.set_reason("worker-1: train-labels-idx1-ubyte: bad magic");
    running.set_failure_code(static_cast<int>(grpc::StatusCode::DATA_LOSS));
    service.watch = {running};
    service.after_watch = nullptr;
  } else if (scenario == "die") {
    service.after_watch = [](grpc::ServerContext*) { kill(getpid(), SIGKILL); };
  } else if (scenario == "freeze") {
    service.after_watch = [](grpc::ServerContext*) { kill(getpid(), SIGSTOP); };
  } else if (scenario == "terminated") {
    service.after_watch = [](grpc::ServerContext*) { kill(getpid(), SIGTERM); };
  } else if (scenario == "quit") {
    service.after_watch = [](grpc::ServerContext* context) {
      kill(getppid(), SIGQUIT);
      HoldUntilCancelled(context);
    };
  } else if (scenario == "interrupt") {
    service.after_watch = [](grpc::ServerContext* context) {
      kill(getppid(), SIGINT);
      HoldUntilCancelled(context);
    };
  }
  const std::string address = service.Start(Flag(argc, argv, "--listen"));
  const std::string port_file = Flag(argc, argv, "--port-file");
  std::ofstream(port_file + ".draft")
      << "{\"grpc\": \"" << address << "\", \"http\": \"\", \"pid\": " << getpid() << "}";
  rename((port_file + ".draft").c_str(), port_file.c_str());
  return WaitForTerm(set);
}

int Worker(int argc, char** argv, const sigset_t& set) {
  const std::string id = Flag(argc, argv, "--worker-id");
  std::cerr << id << " speaks" << std::endl;
  if (const std::string places = Env("GG_FAKE_PLACES"); !places.empty()) {
    std::ofstream(places, std::ios::app) << id + " " + Flag(argc, argv, "--topology") + "\n";
  }
  RegisterProcess();
  const std::string order = Env("GG_FAKE_WORKER");
  if (id == "worker-1" && order == "exit") return 78;
  if (id == "worker-1" && order == "killed") kill(getpid(), SIGKILL);
  if (order == "deaf") {
    while (true) pause();  // SIGTERM is blocked
  }
  return WaitForTerm(set);
}

}  // namespace
}  // namespace gg

int main(int argc, char** argv) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return absl::EndsWith(argv[0], "gg-coordinator") ? gg::Coordinator(argc, argv, set)
                                                   : gg::Worker(argc, argv, set);
}
