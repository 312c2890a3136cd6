// SPDX-License-Identifier: Apache-2.0
// gg-bench-link-mpi BYTES SECONDS: the figures of gg-bench-link for MPI, two ranks, as the same
// line of JSON.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

constexpr int kWindow = 2;

double CpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void Stream(int rank, std::vector<char>& buffer, int bytes, long count) {
  MPI_Request requests[kWindow];
  std::fill(requests, requests + kWindow, MPI_REQUEST_NULL);
  for (long i = 0; i < count; ++i) {
    const int slot = static_cast<int>(i % kWindow);
    MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
    char* data = buffer.data() + static_cast<size_t>(slot) * bytes;
    rank == 0 ? MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[slot])
              : MPI_Irecv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[slot]);
  }
  MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
  char ack = 0;
  rank == 0 ? MPI_Recv(&ack, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            : MPI_Send(&ack, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

void PingPong(int rank, std::vector<char>& buffer, int bytes, long count) {
  const int other = 1 - rank;
  for (long i = 0; i < count; ++i) {
    if (rank == 0) MPI_Send(buffer.data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer.data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer.data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
  }
}

template <typename Run>
long Fit(Run run, double seconds) {
  long count = 2;
  double took = run(count);
  while (took < seconds / 8 && count < (1 << 20)) took = run(count *= 2);
  return std::max(2L, static_cast<long>(static_cast<double>(count) * seconds / took));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3 || size != 2) {
    std::fprintf(stderr, "usage: mpirun -n 2 gg-bench-link-mpi BYTES SECONDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int bytes = std::atoi(argv[1]);
  const double seconds = std::atof(argv[2]);
  std::vector<char> buffer(static_cast<size_t>(bytes) * kWindow, 1);
  const auto timed = [&](auto what) {
    return [&, what](long count) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      what(rank, buffer, bytes, count);
      double took = MPI_Wtime() - begin;
      MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      return took;
    };
  };
  const auto stream = timed(Stream);
  const auto ping_pong = timed(PingPong);
  const long streamed = Fit(stream, seconds);
  const double before = CpuSeconds();
  const double took = stream(streamed);
  const double own_cpu = CpuSeconds() - before;
  double cpu = 0;
  MPI_Reduce(&own_cpu, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  const long bounced = Fit(ping_pong, seconds);
  const double latency = ping_pong(bounced) / static_cast<double>(bounced) / 2;
  if (rank == 0) {
    const double gigabytes = 1e-9 * bytes * static_cast<double>(streamed);
    std::printf(
        "{\"transport\": \"openmpi-tcp\", \"bytes\": %d, \"gb_per_second\": %.4f, "
        "\"cpu_seconds_per_gb\": %.4f, \"latency_us\": %.2f}\n",
        bytes, gigabytes / took, cpu / gigabytes, latency * 1e6);
  }
  MPI_Finalize();
  return 0;
}
