// SPDX-License-Identifier: Apache-2.0
// A peer that a test can kill: rank 1 of a view of two on a gRPC transport. Writes its address as a
// line, reads the address of rank 0 as a line, then sends 1 MB messages (exchange, step 0, 1, 2,
// ...) until it dies. Usage: peer_process unix|tcp
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/clock.h"
#include "worker/transport/grpc/grpc_transport.h"

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  gg::GrpcTransportOptions options;
  options.same_host_unix_socket = argc < 2 || absl::string_view(argv[1]) != "tcp";
  auto transport = gg::MakeGrpcTransport(options);
  if (!transport.ok()) {
    std::cerr << transport.status() << std::endl;
    return 1;
  }
  std::cout << (*transport)->local_address() << std::endl;
  std::string rank0;
  if (!std::getline(std::cin, rank0)) return 1;
  const gg::View view{1, {{"worker-0", rank0}, {"worker-1", (*transport)->local_address()}}};
  auto group = (*transport)->Join("job", view, 1);
  if (!group.ok()) {
    std::cerr << group.status() << std::endl;
    return 1;
  }
  const std::vector<uint8_t> data(1'000'000, 7);
  gg::Monitor monitor;
  bool failed = false;
  std::function<void(uint64_t)> send = [&](uint64_t step) {
    (*group)->Send(0, {gg::Channel::kExchange, step, 0}, data, [&, step](absl::Status status) {
      if (status.ok()) return send(step + 1);
      gg::MutexLock lock(&monitor.mu);
      failed = true;
      monitor.changed.NotifyAll();
    });
  };
  send(0);
  gg::MutexLock lock(&monitor.mu);
  // The test that started it kills it, or dies with it.
  gg::RealClock().Await(
      monitor, [&] { return failed; }, gg::RealClock().Now() + absl::Minutes(5));
  return failed ? 2 : 0;
}
