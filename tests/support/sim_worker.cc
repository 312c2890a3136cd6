// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_worker.h"

#include <cstdlib>
#include <limits>
#include <utility>

#include "core/rng.h"
#include "core/status.h"
#include "kernels/reference/reference_device.h"

namespace gg {

void RecordingSink::Add(CounterId id, double amount, LabelValues labels) {
  MutexLock lock(&mu_);
  const auto values = labels.values();
  counters_[{id, values.empty() ? "" : std::string(values[0])}] += amount;
}

void RecordingSink::Set(GaugeId id, double value, LabelValues) {
  MutexLock lock(&mu_);
  gauges_[id] = value;
}

void RecordingSink::Observe(HistogramId id, double value, LabelValues) {
  MutexLock lock(&mu_);
  observed_[id].push_back(value);
}

std::vector<double> RecordingSink::observed(HistogramId id) const {
  MutexLock lock(&mu_);
  const auto it = observed_.find(id);
  return it == observed_.end() ? std::vector<double>() : it->second;
}

double RecordingSink::gauge(GaugeId id) const {
  MutexLock lock(&mu_);
  const auto it = gauges_.find(id);
  return it == gauges_.end() ? std::numeric_limits<double>::quiet_NaN() : it->second;
}

double RecordingSink::counter(CounterId id, absl::string_view label) const {
  MutexLock lock(&mu_);
  const auto it = counters_.find({id, std::string(label)});
  return it == counters_.end() ? 0 : it->second;
}

double SimModel::Weight(Rank rank, int size) const {
  if (weights.empty()) return 1;
  const auto raw = [&](Rank r) { return weights[static_cast<size_t>(r) % weights.size()]; };
  double sum = 0;
  for (Rank r = 0; r < size; ++r) sum += raw(r);
  return raw(rank) * size / sum;
}

double SimModel::Target(Rank rank, size_t i) const {
  Rng rng(seed, "target", rank);
  rng.SetPosition(i);
  return 2.0 * rng.Uniform() - 1.0;
}

double SimModel::Noise(Rank rank, uint64_t step, size_t i) const {
  if (!noise) return 0;
  Rng rng(seed, "noise", step * 1000 + rank);
  rng.SetPosition(i);
  return 0.2 * rng.Uniform() - 0.1;
}

double SimModel::Initial(size_t i) const {
  Rng rng(seed, "initial");
  rng.SetPosition(i);
  return 4.0 * rng.Uniform() - 2.0;
}

double SimModel::MeanAfter(uint64_t steps, int size, size_t i) const {
  double w = static_cast<float>(Initial(i)), v = 0;
  for (uint64_t step = 0; step < steps; ++step) {
    double g = 0;
    for (Rank r = 0; r < size; ++r) g += Noise(r, step, i) * Weight(r, size) / size;
    v = momentum * v + Rate(step) * g;
    w -= nesterov ? momentum * v + Rate(step) * g : v;
  }
  return w;
}

SimWorker::SimWorker(const SimModel& model, ExchangeSpec spec, int size, Rank rank, Clock& clock,
                     PeerGroup* group)
    : model_(model), rank_(rank), device_(MakeReferenceDevice()) {
  stream_ = *device_->MakeStream();
  std::vector<BlockInfo> blocks;
  for (const int64_t floats : model.blocks) {
    const std::string name = "layer" + std::to_string(model.blocks.size() - blocks.size());
    TensorInfo tensor;
    tensor.name = name + ".weight";
    tensor.shape = {floats};
    BlockInfo block;
    block.name = name;
    block.tensors.push_back(std::move(tensor));
    blocks.push_back(std::move(block));
  }
  auto arena = ParamArena::Create(*device_, std::move(blocks), model.buffer_floats);
  arena_ = std::move(arena).value();
  const int state_vectors = model.adam ? 2 : model.momentum > 0 ? 1 : 0;
  if (!arena_->AllocateState(*device_, state_vectors).ok()) std::abort();
  for (const size_t i : ParameterOffsets()) {
    arena_->weights()[i] = static_cast<float>(model_.Initial(i));
  }
  ExchangeContext context;
  context.spec = std::move(spec);
  context.seed = model.seed;
  context.device = device_.get();
  context.stream = stream_.get();
  context.arena = arena_.get();
  context.group = group;
  context.size = size;
  context.rank = rank;
  context.clock = &clock;
  context.metrics = &metrics_;
  context.steps_per_epoch = 4;
  context.weight = model.Weight(rank, size);
  context.transport = "sim";
  context.update = [this](BlockIndex b, uint64_t step) {
    return Update(arena_->block(b).offset, arena_->block(b).count, step);
  };
  context.update_range = [this](size_t offset, size_t count, uint64_t step) {
    return Update(offset, count, step);
  };
  context.on_incident = [this](const PartnerIncident& incident) { incidents_.push_back(incident); };
  auto exchange = MakeExchange(std::move(context));
  exchange_ = std::move(exchange).value();
}

SimWorker::~SimWorker() = default;

absl::Status SimWorker::Update(size_t offset, size_t count, uint64_t step) {
  if (model_.adam) {
    const AdamParams adam{.learning_rate = model_.Rate(step),
                          .beta1 = model_.beta1,
                          .beta2 = model_.beta2,
                          .epsilon = model_.epsilon,
                          .weight_decay = 0,
                          .step = step + 1};
    return device_->Adam(*stream_, adam, arena_->gradients().subspan(offset, count),
                         arena_->state(0).subspan(offset, count),
                         arena_->state(1).subspan(offset, count),
                         arena_->weights().subspan(offset, count));
  }
  const SgdParams sgd{.learning_rate = static_cast<float>(model_.Rate(step)),
                      .momentum = static_cast<float>(model_.momentum),
                      .weight_decay = 0,
                      .nesterov = model_.nesterov};
  const Flat momentum = arena_->momentum();
  return device_->SgdMomentum(*stream_, sgd, arena_->gradients().subspan(offset, count),
                              momentum.empty() ? momentum : momentum.subspan(offset, count),
                              arena_->weights().subspan(offset, count));
}

absl::StatusOr<ExchangeStats> SimWorker::Step(uint64_t step) {
  GG_RETURN_IF_ERROR(exchange_->BeginStep(step));
  for (BlockIndex b = arena_->block_count() - 1; b >= 0; --b) {
    GG_RETURN_IF_ERROR(exchange_->BlockNeeded(b));
  }
  for (BlockIndex b = 0; b < arena_->block_count(); ++b) {
    const TensorInfo& tensor = arena_->block(b).tensors[0];
    for (size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
      arena_->gradients()[i] =
          static_cast<float>(model_.curvature * (arena_->weights()[i] - model_.Target(rank_, i)) +
                             model_.Noise(rank_, step, i));
    }
    GG_RETURN_IF_ERROR(exchange_->GradientReady(b));
    if (after_block) after_block(b);
  }
  return exchange_->EndStep(step);
}

std::vector<size_t> SimWorker::ParameterOffsets() const {
  std::vector<size_t> offsets;
  for (BlockIndex b = 0; b < arena_->block_count(); ++b) {
    const TensorInfo& tensor = arena_->block(b).tensors[0];
    for (size_t i = 0; i < tensor.count; ++i) offsets.push_back(tensor.offset + i);
  }
  return offsets;
}

}  // namespace gg
