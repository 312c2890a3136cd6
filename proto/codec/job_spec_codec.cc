// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/job_spec_codec.h"

#include <map>
#include <string>

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

// The fields of each section, once for both directions: X(field) for a single value, L(field) for a
// list.
#define GG_MODEL_FIELDS(X, L) X(name) L(hidden) X(dropout)
#define GG_DATA_FIELDS(X, L) \
  X(format)                  \
  X(path)                    \
  X(mean)                    \
  X(stddev)                  \
  X(exchange) X(limit_train) X(limit_test) L(shape) X(classes) X(train_samples) X(test_samples)
#define GG_OPTIMIZER_FIELDS(X, L) \
  X(name)                         \
  X(momentum)                     \
  X(weight_decay)                 \
  X(nesterov) X(beta1) X(beta2) X(epsilon) X(trust_coefficient) X(clip_norm) X(clip_value)
#define GG_LEARNING_RATE_FIELDS(X, L) \
  X(base)                             \
  X(policy)                           \
  X(gamma)                            \
  X(step_epochs) L(milestones) X(power) X(floor) X(warmup_epochs) X(scaling) X(max_scaled)
#define GG_EXCHANGE_FIELDS(X, L) \
  X(algorithm)                   \
  X(schedule)                    \
  X(rotate)                      \
  X(payload)                     \
  X(overlap)                     \
  X(average_every)               \
  X(deadline_seconds)            \
  X(bucket_bytes)                \
  X(final_average)               \
  X(period)                      \
  X(local_from_epoch)            \
  X(collective)                  \
  X(collective_seconds)          \
  X(graph_file)                  \
  X(topology)                    \
  X(encoding)                    \
  X(topk_share)                  \
  X(push_probability)            \
  X(elastic_beta)                \
  X(asynchronous)                \
  X(staleness_bound) X(norm_limit) X(quarantine_after) X(proportional_batches)
#define GG_TRAIN_FIELDS(X, L) X(epochs) X(max_steps) X(batch_size) X(seed) X(evaluate_every_epochs)
#define GG_WORKERS_FIELDS(X, L) \
  X(min) X(max) X(threads) X(device) X(transport) X(start_timeout_seconds)

#define GG_WRITE_ONE(field) to->set_##field(from.field);
#define GG_WRITE_LIST(field) to->mutable_##field()->Assign(from.field.begin(), from.field.end());
#define GG_READ_ONE(field) \
  if (from.has_##field()) to->field = from.field();
#define GG_READ_LIST(field) \
  if (from.field##_size() > 0) to->field.assign(from.field().begin(), from.field().end());

#define GG_SECTION(Type, FIELDS)               \
  void Write(const Type& from, v1::Type* to) { \
    FIELDS(GG_WRITE_ONE, GG_WRITE_LIST)        \
  }                                            \
  void Read(const v1::Type& from, Type* to) {  \
    FIELDS(GG_READ_ONE, GG_READ_LIST)          \
  }

GG_SECTION(ModelSpec, GG_MODEL_FIELDS)
GG_SECTION(DataSpec, GG_DATA_FIELDS)
GG_SECTION(OptimizerSpec, GG_OPTIMIZER_FIELDS)
GG_SECTION(LearningRateSpec, GG_LEARNING_RATE_FIELDS)
GG_SECTION(ExchangeSpec, GG_EXCHANGE_FIELDS)
GG_SECTION(TrainSpec, GG_TRAIN_FIELDS)
GG_SECTION(WorkersSpec, GG_WORKERS_FIELDS)

template <typename Value>
void WriteMap(const std::map<std::string, Value>& from,
              google::protobuf::Map<std::string, Value>* to) {
  to->insert(from.begin(), from.end());
}
template <typename Value>
std::map<std::string, Value> ReadMap(const google::protobuf::Map<std::string, Value>& from) {
  return {from.begin(), from.end()};
}

}  // namespace

v1::JobSpec ToProto(const JobSpec& spec) {
  v1::JobSpec proto;
  proto.set_name(spec.name);
  WriteMap(spec.labels, proto.mutable_labels());
  Write(spec.model, proto.mutable_model());
  Write(spec.data, proto.mutable_data());
  Write(spec.optimizer, proto.mutable_optimizer());
  WriteMap(spec.optimizer.weight_decays, proto.mutable_optimizer()->mutable_weight_decays());
  WriteMap(spec.optimizer.rate_factors, proto.mutable_optimizer()->mutable_rate_factors());
  Write(spec.learning_rate, proto.mutable_learning_rate());
  Write(spec.exchange, proto.mutable_exchange());
  Write(spec.train, proto.mutable_train());
  Write(spec.workers, proto.mutable_workers());
  return proto;
}

JobSpec FromProto(const v1::JobSpec& proto) {
  JobSpec spec;
  spec.name = proto.name();
  spec.labels = ReadMap(proto.labels());
  Read(proto.model(), &spec.model);
  Read(proto.data(), &spec.data);
  Read(proto.optimizer(), &spec.optimizer);
  spec.optimizer.weight_decays = ReadMap(proto.optimizer().weight_decays());
  spec.optimizer.rate_factors = ReadMap(proto.optimizer().rate_factors());
  Read(proto.learning_rate(), &spec.learning_rate);
  Read(proto.exchange(), &spec.exchange);
  Read(proto.train(), &spec.train);
  Read(proto.workers(), &spec.workers);
  return spec;
}

}  // namespace gg
