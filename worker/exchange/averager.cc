// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange/averager.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/exchange/rule.h"

namespace gg {
namespace {

// Pieces of a megabyte are the cheapest per byte on the wire (docs/benchmarks/link.md).
constexpr size_t kPieceFloats = (1 << 20) / sizeof(float);

CollectiveAlgorithm AlgorithmOf(const std::string& name, CollectiveOp op, int size, size_t bytes) {
  for (const CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kHalvingDoubling,
        CollectiveAlgorithm::kRecursiveDoubling}) {
    if (name == CollectiveAlgorithmName(algorithm)) return algorithm;
  }
  return ChooseCollective(op, size, bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Averager>> Averager::Create(const ExchangeContext& context,
                                                           const std::vector<AverageLane>& lanes) {
  if (lanes.size() > kFirstReplicaAverage) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange: ", lanes.size(), " units, at most ", kFirstReplicaAverage,
                     " can be averaged apart: raise spec.exchange.bucket_bytes"));
  }
  GG_ASSIGN_OR_RETURN(const WireFormat encoded, ParseEncoding(context.spec, context.seed));
  const bool all_exact =
      std::all_of(lanes.begin(), lanes.end(), [](const AverageLane& lane) { return lane.exact; });
  const size_t grain = all_exact ? 1 : BlockValues(encoded.encoding);
  const auto link = FloatLink::Create(*context.group, encoded);
  const auto exact_link = FloatLink::Create(*context.group, {});
  std::unique_ptr<Averager> averager(new Averager(context));
  for (const AverageLane& wanted : lanes) {
    Lane& lane = averager->lanes_.emplace_back();
    lane.link = wanted.exact ? exact_link : link;
    const WireFormat& format = lane.link->format();
    const CollectiveAlgorithm algorithm = AlgorithmOf(
        context.spec.collective, wanted.op, context.size, WireBytes(format, wanted.floats));
    GG_ASSIGN_OR_RETURN(lane.program,
                        CompileCollective(wanted.op, algorithm, context.size, context.rank,
                                          wanted.floats, kPieceFloats, grain));
    for (const CollectivePiece& piece : lane.program->pieces) {
      const bool sent = piece.kind == CollectivePiece::kSend;
      (sent ? lane.bytes_sent : lane.bytes_received) += WireBytes(format, piece.range.size());
    }
    GG_ASSIGN_OR_RETURN(lane.memory, AllocateCollective(*context.device, *lane.program));
  }
  MutexLock lock(&averager->mu_);
  averager->under_way_.resize(lanes.size());
  return averager;
}

absl::Status Averager::Start(int index, uint64_t step, absl::Span<const ConstFlat> parts,
                             ExchangeStats& stats) {
  Lane& lane = lanes_[index];
  if (!lane.memory) {
    return absl::FailedPreconditionError(
        absl::StrCat("average ", index, " of step ", step, ": the one before has failed"));
  }
  const absl::Time start = context_.clock->Now();
  const float scale = lane.program->op == CollectiveOp::kAllGather
                          ? 1.0f
                          : static_cast<float>(context_.weight / context_.size);
  const Flat values = lane.memory->values->floats();
  size_t at = 0;
  for (const ConstFlat part : parts) {
    const Flat into = values.subspan(at, part.size());
    GG_RETURN_IF_ERROR(context_.device->Axpby(*context_.stream, scale, part, 0, into));
    at += part.size();
  }
  GG_RETURN_IF_ERROR(context_.stream->Synchronize());
  stats.mixed += context_.clock->Now() - start;
  lane.run = CollectiveRun::Start(*context_.device, lane.link, *context_.clock, lane.program,
                                  (step + 1) * kCollectivesPerStep + static_cast<uint64_t>(index),
                                  *std::exchange(lane.memory, std::nullopt));
  Count(lane, stats);
  absl::Status aborted;
  {
    MutexLock lock(&mu_);
    under_way_[index] = lane.run;
    aborted = aborted_;
  }
  if (!aborted.ok()) lane.run->Abort(aborted);
  return absl::OkStatus();
}

void Averager::Count(const Lane& lane, ExchangeStats& stats) {
  stats.messages_sent += lane.program->messages;
  stats.bytes_sent += lane.bytes_sent;
  context_.metrics->Add(CounterId::kGossipMessages, static_cast<double>(lane.program->messages),
                        {"sent", context_.transport});
  context_.metrics->Add(CounterId::kGossipBytes, static_cast<double>(lane.bytes_sent),
                        {"sent", context_.transport});
}

bool Averager::finished(int lane) const {
  return lanes_[lane].run != nullptr && lanes_[lane].run->finished();
}

absl::StatusOr<Flat> Averager::Await(int index, absl::Time deadline, ExchangeStats& stats) {
  Lane& lane = lanes_[index];
  const std::shared_ptr<CollectiveRun> run = std::exchange(lane.run, nullptr);
  if (run == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("average ", index, " was not begun"));
  }
  const absl::Time start = context_.clock->Now();
  const absl::Status status = run->Await(deadline);
  stats.waited += context_.clock->Now() - start;
  {
    MutexLock lock(&mu_);
    under_way_[index].reset();
    GG_RETURN_IF_ERROR(aborted_);
  }
  GG_RETURN_IF_ERROR(status);
  ++stats.exchanges_done;
  lane.memory = run->TakeMemory();
  context_.metrics->Add(CounterId::kGossipMessages, static_cast<double>(lane.program->receives),
                        {"received", context_.transport});
  context_.metrics->Add(CounterId::kGossipBytes, static_cast<double>(lane.bytes_received),
                        {"received", context_.transport});
  context_.metrics->Add(CounterId::kGossipExchanges, 1, "ok");
  return lane.memory->values->floats().subspan(0, lane.program->count);
}

Range Averager::OwnStrip(int lane) const {
  return lanes_[lane].program->OwnStrip();
}

void Averager::Abort(absl::Status why) {
  std::vector<std::shared_ptr<CollectiveRun>> runs;
  {
    MutexLock lock(&mu_);
    if (!aborted_.ok() || why.ok()) return;
    aborted_ = why;
    for (const auto& weak : under_way_) {
      if (auto run = weak.lock()) runs.push_back(std::move(run));
    }
  }
  for (const auto& run : runs) run->Abort(why);
}

}  // namespace gg
