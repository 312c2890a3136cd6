// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_oracle.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/exchange/schedule_of.h"

namespace gg {
namespace {

View ViewOf(int size, const std::vector<std::string>& hosts) {
  View view;
  for (Rank r = 0; r < size; ++r) {
    const std::string host = hosts.empty() ? absl::StrCat("host-", r) : hosts[r];
    view.members.push_back({absl::StrCat("worker-", r), "", {{"host", host}}});
  }
  return view;
}

}  // namespace

SimOracle::SimOracle(const SimModel& model, const ExchangeSpec& spec, int size,
                     std::vector<size_t> offsets, bool halved, std::vector<std::string> hosts)
    : model_(model),
      gradients_(spec.payload == "gradients"),
      momentum_too_(spec.payload == "weights-momentum"),
      step_overlap_(spec.overlap == "step"),
      halved_(halved),
      size_(size),
      offsets_(std::move(offsets)),
      schedule_([&] {
        const View view = ViewOf(size, hosts);
        return ScheduleOf(spec, model.seed, size, &view);
      }()
                    .value()) {
  std::vector<double> initial;
  for (const size_t i : offsets_) initial.push_back(static_cast<float>(model_.Initial(i)));
  w_.assign(size, initial);
  v_.assign(size, std::vector<double>(initial.size()));
}

SimOracle::Vectors SimOracle::PulledTowardsPartner(const Vectors& a, const Vectors& from,
                                                   uint64_t step) const {
  Vectors out = a;
  for (Rank i = 0; i < size_; ++i) {
    const Rank j = schedule_->At(i, step).recv_from;
    if (j < 0 || missed_.contains({i, step})) continue;
    for (size_t k = 0; k < out[i].size(); ++k) out[i][k] += 0.5 * (from[j][k] - from[i][k]);
  }
  return out;
}

SimOracle::Vectors SimOracle::Halved(const Vectors& a, const Vectors& from, uint64_t step) const {
  Vectors out = a;
  for (Rank i = 0; i < size_; ++i) {
    const Rank j = schedule_->At(i, step).recv_from;
    for (size_t k = 0; k < out[i].size(); ++k) out[i][k] = 0.5 * a[i][k] + 0.5 * from[j][k];
  }
  return out;
}

void SimOracle::AverageGroup(const std::vector<Rank>& group, Vectors& values) const {
  std::vector<double> mean(offsets_.size());
  for (const Rank i : group) {
    for (size_t k = 0; k < mean.size(); ++k) {
      mean[k] += values[i][k] / static_cast<double>(group.size());
    }
  }
  for (const Rank i : group) values[i] = mean;
}

void SimOracle::AverageGroups(Vectors& values) const {
  for (Rank i = 0; i < size_; ++i) {
    const std::vector<Rank> group = schedule_->GroupOf(i);
    if (group.size() > 1 && group[0] == i) AverageGroup(group, values);
  }
}

void SimOracle::Apply(const Vectors& gradients, uint64_t step) {
  for (Rank i = 0; i < size_; ++i) {
    for (size_t k = 0; k < offsets_.size(); ++k) {
      v_[i][k] = model_.momentum * v_[i][k] + model_.Rate(step) * gradients[i][k];
      w_[i][k] -= v_[i][k];
    }
  }
}

SimOracle::Vectors SimOracle::MixStale(const Vectors& now, const Vectors& snapshot) const {
  if (!has_snapshot_) return now;
  return halved_ ? Halved(now, snapshot, snapshot_step_)
                 : PulledTowardsPartner(now, snapshot, snapshot_step_);
}

void SimOracle::Step(uint64_t step) {
  if (step_overlap_ && !gradients_) {
    w_ = MixStale(w_, sent_w_);
    if (momentum_too_) v_ = MixStale(v_, sent_v_);
    sent_w_ = w_;
    sent_v_ = v_;
    has_snapshot_ = true;
    snapshot_step_ = step;
  }
  Vectors g = w_;
  for (Rank i = 0; i < size_; ++i) {
    for (size_t k = 0; k < offsets_.size(); ++k) {
      g[i][k] = model_.curvature * (w_[i][k] - model_.Target(i, offsets_[k])) +
                model_.Noise(i, step, offsets_[k]);
    }
  }
  AverageGroups(g);
  for (const auto& [rank, when] : missed_) {
    const std::vector<Rank> group = schedule_->GroupOf(rank);
    if (when + 1 != step || group.size() == 1) continue;
    AverageGroup(group, w_);
    AverageGroup(group, v_);
  }
  if (gradients_ && step_overlap_) {
    const Vectors raw = g;
    g = MixStale(g, sent_g_);
    sent_g_ = raw;
    has_snapshot_ = true;
    snapshot_step_ = step;
  } else if (gradients_) {
    g = PulledTowardsPartner(g, g, step);
  }
  Apply(g, step);
  if (!gradients_ && !step_overlap_) {
    w_ = PulledTowardsPartner(w_, w_, step);
    if (momentum_too_) v_ = PulledTowardsPartner(v_, v_, step);
  }
}

SimOracle::Vectors SimOracle::Settled() const {
  return step_overlap_ && !gradients_ ? MixStale(w_, sent_w_) : w_;
}

std::vector<double> SimOracle::Mean() const {
  const Vectors models = Settled();
  std::vector<double> mean(offsets_.size());
  for (const auto& model : models) {
    for (size_t k = 0; k < mean.size(); ++k) mean[k] += model[k] / size_;
  }
  return mean;
}

}  // namespace gg
