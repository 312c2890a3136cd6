// SPDX-License-Identifier: Apache-2.0
// gg-bench-collectives: how long an all-reduce takes by algorithm, number of workers and size of the
// vector, over gRPC between workers of this host; the workers are groups of one process, each with a
// transport of its own. All algorithms of a size take turns, so that they meet the same machine.
// Writes JSON: `results`, a row per workers, bytes and algorithm with the median microseconds, and
// `chosen`, what ChooseCollective takes there.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "kernels/device.h"
#include "platform/allocator.h"
#include "worker/collective/plan.h"
#include "worker/collective/program.h"
#include "worker/collective/run.h"
#include "worker/transport/grpc/grpc_transport.h"
#include "worker/wire/float_link.h"

namespace gg::bench {
namespace {

constexpr size_t kPieceFloats = (1 << 20) / sizeof(float);  // as the exchange has it
constexpr std::array kAlgorithms = {CollectiveAlgorithm::kRing,
                                    CollectiveAlgorithm::kHalvingDoubling,
                                    CollectiveAlgorithm::kRecursiveDoubling};

[[noreturn]] void Fail(const absl::Status& status) {
  std::cerr << "gg-bench-collectives: " << status << std::endl;
  std::_Exit(1);
}

template <typename T>
T Take(absl::StatusOr<T> value) {
  if (!value.ok()) Fail(value.status());
  return *std::move(value);
}

class Cluster {
 public:
  explicit Cluster(int size) : device_(Take(MakeDevice("auto", {.threads = 1}))) {
    View view{1, {}};
    for (int r = 0; r < size; ++r) {
      transports_.push_back(Take(MakeGrpcTransport({})));
      view.members.push_back({absl::StrCat("worker-", r), transports_.back()->local_address()});
    }
    for (Rank r = 0; r < size; ++r) {
      groups_.push_back(Take(transports_[r]->Join("bench", view, r)));
      links_.push_back(FloatLink::Create(*groups_.back(), WireFormat()));
    }
  }
  ~Cluster() { groups_.clear(); }

  // Microseconds from the first start to the last end.
  double AllReduce(CollectiveAlgorithm algorithm, size_t floats) {
    const int size = static_cast<int>(groups_.size());
    std::vector<std::shared_ptr<const CollectiveProgram>> programs;
    std::vector<CollectiveMemory> memories;
    for (Rank r = 0; r < size; ++r) {
      programs.push_back(Take(
          CompileCollective(CollectiveOp::kAllReduce, algorithm, size, r, floats, kPieceFloats)));
      memories.push_back(Take(AllocateCollective(*device_, *programs.back())));
    }
    ++number_;
    std::vector<std::shared_ptr<CollectiveRun>> runs;
    const absl::Time start = RealClock().Now();
    for (Rank r = 0; r < size; ++r) {
      runs.push_back(CollectiveRun::Start(*device_, links_[r], RealClock(), programs[r], number_,
                                          std::move(memories[r])));
    }
    for (const auto& run : runs) {
      const absl::Status status = run->Await(start + absl::Minutes(2));
      if (!status.ok()) Fail(status);
    }
    return absl::ToDoubleMicroseconds(RealClock().Now() - start);
  }

 private:
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<std::unique_ptr<PeerGroup>> groups_;
  std::vector<std::shared_ptr<FloatLink>> links_;
  uint64_t number_ = 0;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Main(int argc, char** argv) {
  CLI::App app("Times all-reduces by algorithm, workers and size.");
  std::vector<int> workers = {2, 3, 4, 8};
  std::vector<size_t> kilobytes = {1, 4, 16, 64, 256, 1024, 4096, 16384};
  int repeats = 15;
  app.add_option("--workers", workers)->delimiter(',')->check(CLI::Range(2, 64));
  app.add_option("--kilobytes", kilobytes)->delimiter(',')->check(CLI::Range(1, 1 << 20));
  app.add_option("--repeats", repeats)->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);
  KeepFreedMemory();

  nlohmann::json results = nlohmann::json::array();
  for (const int size : workers) {
    Cluster cluster(size);
    for (const size_t kb : kilobytes) {
      const size_t bytes = kb << 10;
      std::vector<std::vector<double>> times(kAlgorithms.size());
      for (int i = -1; i < repeats; ++i) {  // the first round opens connections
        for (size_t a = 0; a < kAlgorithms.size(); ++a) {
          const double us = cluster.AllReduce(kAlgorithms[a], bytes / sizeof(float));
          if (i >= 0) times[a].push_back(us);
        }
      }
      const auto chosen = ChooseCollective(CollectiveOp::kAllReduce, size, bytes);
      for (size_t a = 0; a < kAlgorithms.size(); ++a) {
        results.push_back({{"workers", size},
                           {"bytes", bytes},
                           {"algorithm", std::string(CollectiveAlgorithmName(kAlgorithms[a]))},
                           {"microseconds", Median(times[a])},
                           {"chosen", kAlgorithms[a] == chosen}});
      }
    }
  }
  std::cout << nlohmann::json{{"results", results}}.dump(1) << std::endl;
  return 0;
}

}  // namespace
}  // namespace gg::bench

int main(int argc, char** argv) {
  return gg::bench::Main(argc, argv);
}
