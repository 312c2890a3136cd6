// SPDX-License-Identifier: Apache-2.0
// gg-bench-link: throughput, CPU time and latency of one link between two processes of this host,
// as one line of JSON. scripts/bench link runs it for every transport and size, several times and
// interleaved, and takes medians.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/link/side.h"
#include "platform/allocator.h"

namespace gg::bench {

void Fail(const std::string& what) {
  std::cerr << "gg-bench-link: " << what << std::endl;
  std::_Exit(1);
}

namespace {

double Seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Pipe {
  int read_fd, write_fd;
  Pipe() {
    int fds[2];
    if (pipe(fds) != 0) Fail(absl::StrCat("pipe: ", strerror(errno)));
    read_fd = fds[0];
    write_fd = fds[1];
  }
  void Tell(const std::string& line) const {
    const std::string text = line + "\n";
    if (write(write_fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      Fail("the other process is gone");
    }
  }
  std::string Hear() const {
    std::string line;
    char c;
    while (read(read_fd, &c, 1) == 1) {
      if (c == '\n') return line;
      line.push_back(c);
    }
    Fail("the other process is gone");
  }
};

std::unique_ptr<Side> MakeSide(const std::string& transport, bool near, const Handshake& h) {
  if (transport == "raw-tcp") return MakeTcpSide(near, h);
  return MakeGrpcSide(near, transport == "grpc-unix", h);
}

struct Job {
  std::string transport;
  uint64_t bytes = 1 << 20;
  double seconds = 0.5;
};

// The far side does what the near one says: "s count", "p count" or "q".
int RunFar(const Job& job, const Pipe& to_near, const Pipe& to_far) {
  const Handshake handshake{[&](const std::string& line) { to_near.Tell(line); },
                            [&] { return to_far.Hear(); }};
  const std::unique_ptr<Side> side = MakeSide(job.transport, false, handshake);
  for (;;) {
    const std::string order = to_far.Hear();
    if (order[0] == 'q') return 0;
    uint64_t count = 0;
    if (!absl::SimpleAtoi(order.substr(2), &count)) Fail("bad order");
    order[0] == 's' ? side->Stream(job.bytes, count) : side->PingPong(job.bytes, count);
  }
}

int RunNear(const Job& job, const Pipe& to_near, const Pipe& to_far, pid_t far) {
  const Handshake handshake{[&](const std::string& line) { to_far.Tell(line); },
                            [&] { return to_near.Hear(); }};
  const std::unique_ptr<Side> side = MakeSide(job.transport, true, handshake);
  clockid_t far_clock;
  if (clock_getcpuclockid(far, &far_clock) != 0) Fail("no CPU clock of the other process");
  const auto cpu = [&] { return Seconds(CLOCK_PROCESS_CPUTIME_ID) + Seconds(far_clock); };
  const auto run = [&](char what, uint64_t count) {
    const double begin = Seconds(CLOCK_MONOTONIC);
    to_far.Tell(absl::StrCat(std::string(1, what), " ", count));
    what == 's' ? side->Stream(job.bytes, count) : side->PingPong(job.bytes, count);
    return Seconds(CLOCK_MONOTONIC) - begin;
  };
  // How many fit into the time, found out on the way, which warms everything up as well.
  const auto fit = [&](char what) {
    uint64_t count = 2;
    double took = run(what, count);
    while (took < job.seconds / 8 && count < (1u << 20)) took = run(what, count *= 2);
    return std::max<uint64_t>(
        2, static_cast<uint64_t>(static_cast<double>(count) * job.seconds / took));
  };
  const uint64_t streamed = fit('s');
  const double cpu_before = cpu();
  const double seconds = run('s', streamed);
  const double cpu_seconds = cpu() - cpu_before;
  const uint64_t bounced = fit('p');
  const double latency = run('p', bounced) / static_cast<double>(bounced) / 2;
  to_far.Tell("q");
  const double gigabytes = 1e-9 * static_cast<double>(job.bytes) * static_cast<double>(streamed);
  std::printf(
      "{\"transport\": \"%s\", \"bytes\": %llu, \"gb_per_second\": %.4f, "
      "\"cpu_seconds_per_gb\": %.4f, \"latency_us\": %.2f}\n",
      job.transport.c_str(), static_cast<unsigned long long>(job.bytes), gigabytes / seconds,
      cpu_seconds / gigabytes, latency * 1e6);
  return 0;
}

int Main(int argc, char** argv) {
  Job job;
  CLI::App app("Measures one link between two processes of this host.", "gg-bench-link");
  app.add_option("--transport", job.transport, "What to measure")
      ->required()
      ->check(CLI::IsMember({"grpc-tcp", "grpc-unix", "raw-tcp"}));
  app.add_option("--bytes", job.bytes, "Size of a message")->check(CLI::Range(1, 1 << 30));
  app.add_option("--seconds", job.seconds, "Time for each figure")->check(CLI::Range(0.01, 60.0));
  CLI11_PARSE(app, argc, argv);
  KeepFreedMemory();
  const Pipe to_near, to_far;
  const pid_t parent = getpid();
  const pid_t far = fork();  // before anything has threads
  if (far < 0) Fail(absl::StrCat("fork: ", strerror(errno)));
  if (far == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) return 1;
    return RunFar(job, to_near, to_far);
  }
  const int code = RunNear(job, to_near, to_far, far);
  waitpid(far, nullptr, 0);
  return code;
}

}  // namespace
}  // namespace gg::bench

int main(int argc, char** argv) {
  return gg::bench::Main(argc, argv);
}
