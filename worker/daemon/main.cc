// SPDX-License-Identifier: Apache-2.0
//
// gg-worker: trains one replica. See --help, and worker_daemon.h for the exit codes.
#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "platform/allocator.h"
#include "worker/daemon/environment.h"
#include "worker/daemon/flags.h"
#include "worker/daemon/worker_daemon.h"

namespace {

// SIGUSR1 ends the waiting thread.
sigset_t WaitedSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGUSR1);
  return set;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<gg::WorkerFlags> flags = gg::ParseWorkerFlags(argc, argv);
  if (!flags.ok()) {
    std::fprintf(stderr, "gg-worker: %s\n", std::string(flags.status().message()).c_str());
    return gg::kExitBadConfig;
  }
  if (!flags->print_and_exit.empty()) {
    std::fputs(flags->print_and_exit.c_str(), stdout);
    return 0;
  }
  gg::KeepFreedMemory();
  gg::EnsureOpenMpEnvironment(flags->threads, argv);

  // Blocked before the first thread starts, hence in all of them: one thread waits for them in
  // order.
  signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = WaitedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  int exit_code = gg::kExitBug;
  absl::StatusOr<std::unique_ptr<gg::WorkerDaemon>> daemon =
      gg::WorkerDaemon::Start(*flags, exit_code);
  if (!daemon.ok()) {
    std::fprintf(stderr, "gg-worker: %s\n", std::string(daemon.status().message()).c_str());
    return exit_code;
  }
  std::thread signal_waiter([&] {
    int number = 0;
    while (sigwait(&signals, &number) == 0 && number != SIGUSR1) {
      (*daemon)->RequestExit(gg::kExitSignal + number, absl::StrCat("signal ", number));
    }
  });
  exit_code = (*daemon)->Run();
  pthread_kill(signal_waiter.native_handle(), SIGUSR1);
  signal_waiter.join();
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {  // a library's: ours does not throw
    std::fprintf(stderr, "gg-worker: bug: %s\n", error.what());
    return gg::kExitBug;
  }
}
