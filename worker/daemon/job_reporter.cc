// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/job_reporter.h"

#include "absl/strings/str_cat.h"

namespace gg {

using gossipgrad::v1::WorkerMessage;

void JobReporter::OnProgress(const TrainProgress& progress) {
  CountTransport();
  WorkerMessage message;
  auto& out = *message.mutable_progress();
  out.set_job_id(p_.job_id);
  out.set_view(p_.view);
  out.set_step(progress.step);
  out.set_epoch(progress.epoch);
  out.set_loss(progress.loss);
  out.set_learning_rate(progress.learning_rate);
  out.set_samples_per_second(progress.samples_per_second);
  out.set_comm_wait_ratio(progress.comm_wait_ratio);
  out.set_skipped_exchanges(progress.skipped_exchanges);
  out.set_partner_distance(progress.partner_distance);
  out.set_completing(progress.completing);
  p_.send(std::move(message));
  if (progress.completing)
    p_.log->Info("job completing", {{"job", p_.job_id}, {"step", absl::StrCat(progress.step)}});
}

void JobReporter::OnEpoch(const EpochSummary& epoch) {
  WorkerMessage message;
  auto& out = *message.mutable_epoch();
  out.set_job_id(p_.job_id);
  out.set_view(p_.view);
  out.set_epoch(epoch.epoch);
  out.set_train_loss(epoch.train_loss);
  out.set_evaluated(epoch.evaluated);
  out.set_test_correct(epoch.test_correct);
  out.set_test_samples(epoch.test_samples);
  out.set_step(epoch.step);
  out.set_train_seconds(epoch.train_seconds);
  out.set_wait_seconds(epoch.wait_seconds);
  out.set_sent_bytes(epoch.sent_bytes);
  out.set_partner_distance(epoch.partner_distance);
  p_.send(std::move(message));
  p_.log->Info("epoch finished", {{"job", p_.job_id},
                                  {"epoch", absl::StrCat(epoch.epoch)},
                                  {"train_loss", absl::StrCat(epoch.train_loss)},
                                  {"test_correct", absl::StrCat(epoch.test_correct)},
                                  {"test_samples", absl::StrCat(epoch.test_samples)}});
}

void JobReporter::SendIncident(uint64_t step, const std::string& partner, const std::string& reason,
                               const std::string& detail) {
  WorkerMessage message;
  auto& out = *message.mutable_incident();
  out.set_job_id(p_.job_id);
  out.set_view(p_.view);
  out.set_step(step);
  out.set_partner(partner);
  out.set_reason(reason);
  out.set_detail(detail);
  p_.send(std::move(message));
}

void JobReporter::OnRingTrouble(uint64_t step, const absl::Status& why) {
  const std::string detail = absl::StrCat("sample ring: ", why.message());
  SendIncident(step, "",
               absl::IsUnavailable(why) ? "lost"
               : absl::IsDataLoss(why)  ? "corrupt"
                                        : "late",
               detail);
  p_.log->Warning("sample ring in trouble, training goes on",
                  {{"job", p_.job_id}, {"step", absl::StrCat(step)}, {"detail", detail}});
}

void JobReporter::OnIncident(const PartnerIncident& incident) {
  SendIncident(incident.step, incident.worker_id, incident.reason, incident.detail);
  p_.log->Warning("exchange without its partner", {{"job", p_.job_id},
                                                   {"step", absl::StrCat(incident.step)},
                                                   {"partner", incident.worker_id},
                                                   {"reason", incident.reason},
                                                   {"detail", incident.detail}});
}

void JobReporter::Finished(const TrainingResult& r) {
  CountTransport();
  WorkerMessage message;
  auto& out = *message.mutable_finished();
  out.set_job_id(p_.job_id);
  out.set_view(p_.view);
  out.set_steps(r.steps);
  out.set_epochs(r.epochs);
  out.set_train_seconds(r.train_seconds);
  out.set_samples(r.samples);
  out.set_sent_bytes(r.sent_bytes);
  out.set_sent_messages(r.sent_messages);
  out.set_wait_seconds(r.wait_seconds);
  out.set_skipped_exchanges(r.skipped_exchanges);
  out.set_squared_distance(r.squared_distance);
  out.set_squared_parameter_norm(r.squared_parameter_norm);
  out.set_replica_accuracy(r.replica_accuracy);
  out.set_average_correct(r.average_correct);
  out.set_average_samples(r.average_samples);
  out.set_average_loss_sum(r.average_loss_sum);
  out.set_model_checksum(r.model_checksum);
  out.set_trades_late(r.trades_late);
  out.set_parameter_count(r.parameter_count);
  for (const auto& [phase, seconds] : r.phase_seconds)
    (*out.mutable_phase_seconds())[phase] = seconds;
  p_.send(std::move(message));
}

void JobReporter::CountTransport() {
  if (p_.group == nullptr) return;
  const PeerStats now = p_.group->stats();
  const auto add = [this](CounterId id, uint64_t amount, uint64_t& counted, LabelValues labels) {
    p_.metrics->Add(id, static_cast<double>(amount - counted), labels);
    counted = amount;
  };
  add(CounterId::kTransportBytes, now.sent_bytes, counted_.sent_bytes, {"sent", p_.transport});
  add(CounterId::kTransportBytes, now.received_bytes, counted_.received_bytes,
      {"received", p_.transport});
  add(CounterId::kTransportDropped, now.dropped_stale, counted_.dropped_stale, "stale");
  add(CounterId::kTransportDropped, now.dropped_checksum, counted_.dropped_checksum, "checksum");
}

}  // namespace gg
