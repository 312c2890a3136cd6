// SPDX-License-Identifier: Apache-2.0
//
// What the dense oracles of the methods are made of: all models of a cluster of SimWorkers in double
// precision, their gradients and updates. An oracle knows neither units nor messages.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_DENSE_CLUSTER_H_
#define GOSSIPGRAD_TESTS_SUPPORT_DENSE_CLUSTER_H_

#include <cmath>
#include <vector>

#include "tests/support/sim_worker.h"

namespace gg {

// All models of a cluster, and one step of each rule.
class DenseCluster {
 public:
  using Vectors = std::vector<std::vector<double>>;  // [rank][parameter]

  DenseCluster(const SimModel& model, int size, const std::vector<size_t>& offsets)
      : w(size), v(size), model_(model), offsets_(offsets) {
    for (auto& weights : w) {
      for (const size_t i : offsets) weights.push_back(static_cast<float>(model.Initial(i)));
    }
    for (auto& momentum : v) momentum.assign(offsets.size(), 0);
    s = v;
  }

  int size() const { return static_cast<int>(w.size()); }

  Vectors Gradients(uint64_t step) const {
    Vectors g(w.size());
    for (Rank r = 0; r < size(); ++r) {
      for (size_t k = 0; k < offsets_.size(); ++k) {
        const size_t i = offsets_[k];
        const double noise = model_.noise ? model_.Noise(r, step, i) : 0;
        g[r].push_back(model_.curvature * (w[r][k] - model_.Target(r, i)) + noise);
      }
    }
    return g;
  }

  void Update(const Vectors& g, uint64_t step) {
    for (Rank r = 0; r < size(); ++r) {
      for (size_t k = 0; k < offsets_.size(); ++k) {
        if (model_.adam) {
          AdamUpdate(g[r][k], step, v[r][k], s[r][k], w[r][k]);
          continue;
        }
        const double d = model_.Rate(step) * g[r][k];
        v[r][k] = model_.momentum * v[r][k] + d;
        w[r][k] -= model_.nesterov ? model_.momentum * v[r][k] + d : v[r][k];
      }
    }
  }

  // Each worker counting as the model says.
  Vectors Mean(const Vectors& a) const {
    std::vector<double> mean(a[0].size());
    for (Rank r = 0; r < size(); ++r) {
      const double share = model_.Weight(r, size()) / size();
      for (size_t k = 0; k < mean.size(); ++k) mean[k] += share * a[r][k];
    }
    return Vectors(a.size(), mean);
  }

  Vectors w, v;
  Vectors s;  // Adam's second moments; v has the first

 private:
  void AdamUpdate(double g, uint64_t step, double& first, double& second, double& weight) const {
    const double t = static_cast<double>(step + 1);
    first = model_.beta1 * first + (1 - model_.beta1) * g;
    second = model_.beta2 * second + (1 - model_.beta2) * g * g;
    const double mean = first / (1 - std::pow(model_.beta1, t));
    const double square = second / (1 - std::pow(model_.beta2, t));
    weight -= model_.Rate(step) * mean / (std::sqrt(square) + model_.epsilon);
  }

  const SimModel model_;
  const std::vector<size_t> offsets_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_DENSE_CLUSTER_H_
