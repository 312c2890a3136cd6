// SPDX-License-Identifier: Apache-2.0
#include "coordinator/state/results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"

namespace gg {
namespace {

double Ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

// Mean over the members that reported each epoch, in the order of epochs.
void AddEpochs(const Job& job, JobResult* result) {
  struct Sum {
    double loss = 0;
    int reports = 0;
    uint64_t correct = 0, samples = 0;
    bool evaluated = false;
  };
  std::map<uint32_t, Sum> epochs;
  for (const JobMember& member : job.members) {
    for (const auto& [epoch, report] : member.epochs) {
      Sum& sum = epochs[epoch];
      sum.loss += report.train_loss;
      ++sum.reports;
      if (!report.evaluated) continue;
      sum.evaluated = true;
      sum.correct += report.test_correct;
      sum.samples += report.test_samples;
    }
  }
  for (const auto& [epoch, sum] : epochs) {
    result->train_loss.push_back(sum.loss / sum.reports);
    if (sum.evaluated) {
      result->epoch_test_accuracy.push_back(
          Ratio(static_cast<double>(sum.correct), static_cast<double>(sum.samples)));
    }
  }
}

// Members, or groups of members that train alike.
double DifferentReplicas(const Job& job) {
  if (job.spec.exchange.schedule != "hierarchical") return static_cast<double>(job.members.size());
  std::set<std::string> places;
  for (const JobMember& member : job.members) {
    places.insert(MemberOf(member.worker).topology[job.spec.exchange.topology]);
  }
  return static_cast<double>(places.size());
}

// One epoch over all members; nothing when one of them has not reported it.
std::optional<EpochPoint> PointOf(const Job& job, uint32_t epoch) {
  EpochPoint point;
  point.epoch = epoch;
  point.step = std::numeric_limits<uint64_t>::max();
  const double size = static_cast<double>(job.members.size());
  uint64_t correct = 0, samples = 0;
  bool evaluated = true;
  std::vector<double> distances;
  for (const JobMember& member : job.members) {
    const auto it = member.epochs.find(epoch);
    if (it == member.epochs.end()) return std::nullopt;
    const EpochReport& report = it->second;
    point.step = std::min(point.step, report.step);
    point.train_seconds = std::max(point.train_seconds, report.train_seconds);
    point.sent_bytes += static_cast<double>(report.sent_bytes) / size;
    point.train_loss += report.train_loss / size;
    point.comm_wait_ratio += Ratio(report.wait_seconds, report.train_seconds) / size;
    evaluated = evaluated && report.evaluated;
    correct += report.test_correct;
    samples += report.test_samples;
    distances.push_back(report.partner_distance);
  }
  if (evaluated && samples > 0)
    point.test_accuracy = Ratio(static_cast<double>(correct), static_cast<double>(samples));
  point.consensus_distance = ConsensusOfPartners(job, distances);
  return point;
}

// Of the last epoch that every member has evaluated; -1 = none.
double LastTestAccuracy(const Job& job) {
  if (job.members.empty()) return -1;
  const auto& first = job.members[0].epochs;
  for (auto it = first.rbegin(); it != first.rend(); ++it) {
    const std::optional<EpochPoint> point = PointOf(job, it->first);
    if (point.has_value() && point->test_accuracy >= 0) return point->test_accuracy;
  }
  return -1;
}

}  // namespace

JobResult Aggregate(const Job& job) {
  JobResult result;
  AddEpochs(job, &result);
  const double size = static_cast<double>(job.members.size());
  uint64_t correct = 0, average_samples = 0, samples = 0;
  double loss_sum = 0, squared_distance = 0;
  bool averaged = true;
  result.steps = std::numeric_limits<uint64_t>::max();
  result.epochs = std::numeric_limits<double>::infinity();
  for (const JobMember& member : job.members) {
    const FinishedReport& report = *member.finished;
    const double steps = static_cast<double>(report.steps);
    correct += report.average_correct;
    average_samples += report.average_samples;
    loss_sum += report.average_loss_sum;
    samples += report.samples;
    squared_distance += report.squared_distance;
    averaged = averaged && report.squared_distance >= 0;
    result.replica_accuracy.push_back(report.replica_accuracy);
    result.train_seconds = std::max(result.train_seconds, report.train_seconds);
    result.sent_bytes_per_step += Ratio(static_cast<double>(report.sent_bytes), steps) / size;
    result.messages_per_step += Ratio(static_cast<double>(report.sent_messages), steps) / size;
    result.comm_wait_ratio += Ratio(report.wait_seconds, report.train_seconds) / size;
    result.skipped_exchanges += report.skipped_exchanges;
    result.trades_late += report.trades_late;
    result.steps = std::min(result.steps, report.steps);
    result.epochs = std::min(result.epochs, report.epochs);
    for (const auto& [phase, seconds] : report.phase_seconds) {
      result.phase_seconds[phase] += seconds / size;
    }
  }
  const FinishedReport& zero = *job.members[0].finished;
  result.parameter_norm = std::sqrt(zero.squared_parameter_norm);
  result.parameter_count = zero.parameter_count;
  result.model_checksum = zero.model_checksum;
  result.test_accuracy = Ratio(static_cast<double>(correct), static_cast<double>(average_samples));
  result.test_loss = Ratio(loss_sum, static_cast<double>(average_samples));
  result.samples_per_second = Ratio(static_cast<double>(samples), result.train_seconds);
  result.consensus_distance = averaged ? std::sqrt(squared_distance / size) : -1;
  if (average_samples == 0) result.test_accuracy = result.test_loss = -1;
  return result;
}

JobProgress Summarise(const Job& job, absl::Time now) {
  JobProgress progress;
  progress.total_epochs = job.spec.train.epochs;
  progress.last_updated = now;
  if (job.members.empty()) return progress;
  if (job.members[0].prepared.has_value()) {
    progress.total_steps = job.members[0].prepared->total_steps;
  }
  progress.test_accuracy = LastTestAccuracy(job);
  progress.step = std::numeric_limits<uint64_t>::max();
  progress.epoch = std::numeric_limits<double>::infinity();
  const double size = static_cast<double>(job.members.size());
  int reporting = 0;
  uint64_t furthest = 0;
  for (const JobMember& member : job.members) {
    const ProgressReport& report = member.progress;
    progress.step = std::min(progress.step, report.step);
    progress.epoch = std::min(progress.epoch, report.epoch);
    progress.samples_per_second += report.samples_per_second;
    progress.comm_wait_ratio += report.comm_wait_ratio / size;
    if (report.step == 0) continue;
    ++reporting;
    progress.loss += report.loss;
    if (report.step >= furthest) {
      furthest = report.step;
      progress.learning_rate = report.learning_rate;
    }
  }
  if (reporting > 0) progress.loss /= reporting;
  if (progress.step > 0 && progress.total_steps >= progress.step && now > job.training) {
    const double pace =
        absl::ToDoubleSeconds(now - job.training) / static_cast<double>(progress.step);
    progress.eta_seconds = pace * static_cast<double>(progress.total_steps - progress.step);
  }
  return progress;
}

std::vector<EpochPoint> Curve(const Job& job) {
  std::vector<EpochPoint> curve;
  if (job.members.empty()) return curve;
  for (const auto& [epoch, report] : job.members[0].epochs) {
    if (std::optional<EpochPoint> point = PointOf(job, epoch); point.has_value())
      curve.push_back(*point);
  }
  return curve;
}

double ConsensusOfPartners(const Job& job, const std::vector<double>& partner_distances) {
  if (!absl::StartsWith(job.spec.exchange.payload, "weights")) return -1;
  double sum = 0;
  int measured = 0;
  for (const double distance : partner_distances) {
    if (distance < 0) continue;
    sum += distance * distance;
    ++measured;
  }
  if (measured == 0) return -1;
  const double p = DifferentReplicas(job);
  return std::sqrt(sum / measured * (p - 1) / (2 * p));
}

}  // namespace gg
