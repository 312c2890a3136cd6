// SPDX-License-Identifier: Apache-2.0
// The table itself: data only. Behaviour is in schema.cc.
#include "core/spec/schema_table.h"

#include <limits>
#include <utility>

namespace gg::internal {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr Range From(double min, double max = kInf) {
  return {min, max, false, false};
}
constexpr Range Above(double min, double max = kInf) {
  return {min, max, true, false};
}
constexpr Range HalfOpen(double min, double max) {
  return {min, max, false, true};
}

// Integers are kept where a double holds them exactly, so that every reader of JSON sees the same
// number.
constexpr double kMaxCount = 9007199254740992.0;  // 2^53

using Ref = FieldRef (*)(JobSpec&);
using Str = absl::string_view;

Field Text(Str path, Ref ref, Str help) {
  return {path, FieldType::kString, "", {}, {}, help, ref};
}
Field Choice(Str path, Ref ref, std::vector<Str> choices, Str help) {
  return {path, FieldType::kString, "", {}, std::move(choices), help, ref};
}
Field Map(Str path, Ref ref, Str help) {
  return {path, FieldType::kStringMap, "", {}, {}, help, ref};
}
Field FloatMap(Str path, Ref ref, Str unit, Range range, Str help) {
  return {path, FieldType::kFloatMap, unit, range, {}, help, ref};
}
Field Bool(Str path, Ref ref, Str help) {
  return {path, FieldType::kBool, "", {}, {}, help, ref};
}
Field Uint(Str path, Ref ref, Str help) {
  return {path, FieldType::kUint, "", {}, {}, help, ref};
}
Field Int(Str path, Ref ref, Str unit, Range range, Str help) {
  return {path, FieldType::kInt, unit, range, {}, help, ref};
}
Field Ints(Str path, Ref ref, Str unit, Range range, Str help) {
  return {path, FieldType::kIntList, unit, range, {}, help, ref};
}
Field Float(Str path, Ref ref, Str unit, Range range, Str help) {
  return {path, FieldType::kFloat, unit, range, {}, help, ref};
}

}  // namespace

#define GG_REF(member) [](JobSpec& s) -> FieldRef { return &s.member; }

const std::vector<Field>& FieldTable() {
  static const auto& table = *new std::vector<Field>{
      Text("metadata.name", GG_REF(name),
           "Name of the job, unique among the coordinator's jobs that are not finished. A DNS "
           "label: "
           "lower-case letters, digits and '-', at most 63."),
      Map("metadata.labels", GG_REF(labels),
          "Free key-value pairs to find the job by: `ggctl get jobs -l team=vision`. They change "
          "nothing in the training."),

      Choice("spec.model.name", GG_REF(model.name), {"lenet", "lenet-bn", "cifarnet", "mlp"},
             "The network. lenet: two convolutions and two fully connected layers, for small grey "
             "images. lenet-bn: the same with batch normalisation, for batches of at least 2. "
             "cifarnet: three convolutions, for 32x32 colour images. mlp: fully connected "
             "layers of the widths in `hidden`."),
      Ints("spec.model.hidden", GG_REF(model.hidden), "units", From(1, 65536),
           "Widths of the hidden layers. Used by mlp only."),
      Float("spec.model.dropout", GG_REF(model.dropout), "", HalfOpen(0, 1),
            "Probability of dropping a hidden activation while training. Used by mlp only."),

      Choice("spec.data.format", GG_REF(data.format), {"idx", "cifar10", "cifar100", "synthetic"},
             "Form of the data set. idx: MNIST-like files, plain or gzip. cifar10, cifar100: the "
             "binary versions. synthetic: seeded random images, no files."),
      Text("spec.data.path", GG_REF(data.path),
           "Folder that holds the files. A relative path counts from the folder of the job file. "
           "Every worker must find the same files there. Not used by synthetic."),
      Float("spec.data.mean", GG_REF(data.mean), "", From(-1e6, 1e6),
            "Subtracted from each pixel after it was scaled to 0..1."),
      Float("spec.data.stddev", GG_REF(data.stddev), "", Above(0, 1e6),
            "Divides each pixel after `mean` was subtracted."),
      Choice("spec.data.exchange", GG_REF(data.exchange), {"ring", "none"},
             "Whether samples move. ring: each worker passes the batch it has just used to the "
             "previous worker and gets one from the next, so that every worker meets all the data. "
             "none: each worker keeps its share."),
      Int("spec.data.limit_train", GG_REF(data.limit_train), "samples", From(0, kMaxCount),
          "Use only the first N training samples. 0 = all."),
      Int("spec.data.limit_test", GG_REF(data.limit_test), "samples", From(0, kMaxCount),
          "Use only the first N test samples. 0 = all."),
      Ints("spec.data.shape", GG_REF(data.shape), "channels, height, width", From(1, 16384),
           "Shape of one sample. Used by synthetic only."),
      Int("spec.data.classes", GG_REF(data.classes), "classes", From(2, 1000000),
          "Number of classes: labels are 0 .. classes-1. Not used by the CIFAR formats, which fix "
          "it."),
      Int("spec.data.train_samples", GG_REF(data.train_samples), "samples", From(1, 1e9),
          "Size of the training set. Used by synthetic only."),
      Int("spec.data.test_samples", GG_REF(data.test_samples), "samples", From(1, 1e9),
          "Size of the test set. Used by synthetic only."),

      Choice("spec.optimizer.name", GG_REF(optimizer.name),
             {"sgd", "sgd-pytorch", "adam", "adamw", "lars", "lamb"},
             "Update rule (docs/optimizers.md). sgd: stochastic gradient descent with momentum, of "
             "which the rate is a part, as in Caffe. sgd-pytorch: the same with the rate outside. "
             "adam: by the first two moments of the gradient; adamw: with decay apart from the "
             "gradient. lars, lamb: sgd and adamw with steps in proportion to the weights of each "
             "layer, for large batches."),
      Float("spec.optimizer.momentum", GG_REF(optimizer.momentum), "", HalfOpen(0, 1),
            "Share of the previous update that is kept. 0 = plain SGD. Used by sgd, sgd-pytorch "
            "and lars."),
      Float("spec.optimizer.weight_decay", GG_REF(optimizer.weight_decay), "", From(0, 10),
            "L2 coefficient: this multiple of the weights is added to the gradient; with adamw "
            "and lamb to the step."),
      Bool("spec.optimizer.nesterov", GG_REF(optimizer.nesterov),
           "Nesterov's momentum: the step looks ahead along the momentum. Used by sgd and "
           "sgd-pytorch."),
      Float("spec.optimizer.beta1", GG_REF(optimizer.beta1), "", HalfOpen(0, 1),
            "Share of the first moment that a step keeps. Used by adam, adamw and lamb."),
      Float("spec.optimizer.beta2", GG_REF(optimizer.beta2), "", HalfOpen(0, 1),
            "Share of the second moment that a step keeps. Used by adam, adamw and lamb."),
      Float("spec.optimizer.epsilon", GG_REF(optimizer.epsilon), "", From(1e-30, 1),
            "Added to the root of the second moment. Used by adam, adamw and lamb."),
      Float("spec.optimizer.trust_coefficient", GG_REF(optimizer.trust_coefficient), "",
            Above(0, 1),
            "How far a step of rate 1 moves a layer, as a share of the norm of its weights. Used "
            "by lars only."),
      Float("spec.optimizer.clip_norm", GG_REF(optimizer.clip_norm), "", From(0, 1e9),
            "Each worker's own gradient is scaled down to this norm, over all layers, before it is "
            "used or exchanged. No layer can then be sent before back-propagation has ended. 0 = "
            "off."),
      Float("spec.optimizer.clip_value", GG_REF(optimizer.clip_value), "", From(0, 1e9),
            "Each value of a worker's own gradient is cut to this size, before `clip_norm`. 0 = "
            "off."),
      FloatMap("spec.optimizer.weight_decays", GG_REF(optimizer.weight_decays), "", From(0, 10),
               "`weight_decay` of the parameters whose names match a pattern, for example "
               "`{\"*.bias\": 0}`. `*` stands for any text, `?` for one character; of several "
               "patterns the longest counts. A pattern without a match ends the job with the names "
               "that there are."),
      FloatMap("spec.optimizer.rate_factors", GG_REF(optimizer.rate_factors), "", From(0, 1000),
               "Factor on the rate of the parameters whose names match a pattern, as in "
               "`weight_decays`. 0 leaves them as they are."),

      Float("spec.learning_rate.base", GG_REF(learning_rate.base), "", Above(0, 100),
            "The rate before `scaling`."),
      Choice(
          "spec.learning_rate.policy", GG_REF(learning_rate.policy),
          {"constant", "step", "multi-step", "exponential", "inverse", "poly", "cosine"},
          "How the rate falls. constant: not. step: times `gamma` every `step_epochs`. multi-step: "
          "times `gamma` at each of `milestones`. exponential: times `gamma` in the course of "
          "every "
          "epoch. inverse: (1 + `gamma` t) to the power of -`power` at step t. poly: (1 - "
          "progress) "
          "to the power of `power`. cosine: half a cosine from the full rate to `floor` at the "
          "last "
          "step."),
      Float(
          "spec.learning_rate.gamma", GG_REF(learning_rate.gamma), "", Above(0, 10),
          "Factor on the rate at each drop or in each epoch; with inverse the slope per step. Used "
          "by step, multi-step, exponential and inverse."),
      Float("spec.learning_rate.step_epochs", GG_REF(learning_rate.step_epochs), "epochs",
            Above(0, 1e6), "Epochs between two drops. Used by step only."),
      Ints("spec.learning_rate.milestones", GG_REF(learning_rate.milestones), "epochs",
           From(1, 1e6),
           "Epochs after which the rate drops, in rising order. Used by multi-step "
           "only."),
      Float("spec.learning_rate.power", GG_REF(learning_rate.power), "", Above(0, 100),
            "Exponent. Used by poly and inverse."),
      Float("spec.learning_rate.floor", GG_REF(learning_rate.floor), "", From(0, 1),
            "Share of the full rate that is left at the last step. Used by cosine only."),
      Float("spec.learning_rate.warmup_epochs", GG_REF(learning_rate.warmup_epochs), "epochs",
            From(0, 1e6),
            "The rate grows linearly to its full value during these first epochs, as a factor on "
            "what `policy` gives. 0 = none."),
      Choice("spec.learning_rate.scaling", GG_REF(learning_rate.scaling),
             {"none", "linear", "sqrt"},
             "Factor on `base` for p workers: 1, p or the square root of p."),
      Float("spec.learning_rate.max_scaled", GG_REF(learning_rate.max_scaled), "", From(0, 100),
            "Upper bound of the rate after `scaling`. 0 = no bound."),

      Choice(
          "spec.exchange.algorithm", GG_REF(exchange.algorithm),
          {"gossip-grad", "allreduce", "allreduce-layerwise", "reduce-scatter", "periodic-average",
           "local-sgd", "cocod", "d-psgd", "ad-psgd", "sgp", "gosgd", "easgd", "none"},
          "How workers agree. gossip-grad: each step, each worker exchanges with one partner. "
          "allreduce: every step uses the mean gradient of all; allreduce-layerwise: the same, "
          "layer by layer during back-propagation. reduce-scatter: each worker updates a strip "
          "of the weights and sends it to all. periodic-average, local-sgd: models are averaged "
          "every `period` steps. cocod: the same while the next steps run. d-psgd: each step, "
          "the mean with both neighbours of a ring. sgp: each step, half of the model is pushed "
          "to one partner. ad-psgd: pairs average when both are ready. gosgd: a model is pushed "
          "to a random worker now and then. easgd: every `period` steps, model and a common "
          "centre pull at each other. none: workers train alone and are averaged once at the "
          "end."),
      Choice(
          "spec.exchange.schedule", GG_REF(exchange.schedule),
          {"dissemination", "hypercube", "ring", "exponential", "random", "hierarchical", "graph"},
          "Who meets whom. dissemination: any number of workers. hypercube: powers of two, "
          "partners swap. ring: the next worker. exponential: the worker 2^k further on. "
          "random: new pairs each step. hierarchical: all workers of a group (`topology`) in every "
          "step, and one of another group. graph: what `graph_file` says."),
      Text("spec.exchange.graph_file", GG_REF(exchange.graph_file),
           "Path of the graph (docs/formats/graph.md), the same on every worker."),
      Text("spec.exchange.topology", GG_REF(exchange.topology),
           "Workers with the same label of this name form a group. host is the name of a worker's "
           "host; others are given by gg-worker --topology."),
      Bool("spec.exchange.rotate", GG_REF(exchange.rotate),
           "Draw a new permutation of the workers every round (ceil(log2 p) steps in most "
           "schedules), so that everybody meets everybody."),
      Choice("spec.exchange.payload", GG_REF(exchange.payload),
             {"gradients", "weights", "weights-momentum"},
             "What is sent. gradients alone lets the models drift apart: use it together with "
             "`average_every`. local-sgd averages weights or weights-momentum; d-psgd, sgp, gosgd, "
             "ad-psgd and easgd need weights; the others send what their rule says."),
      Choice("spec.exchange.overlap", GG_REF(exchange.overlap), {"none", "layerwise", "step"},
             "What the exchange hides behind. none: after the step. layerwise: a layer is sent as "
             "soon as it is ready and waited for where it is next needed. step: the partner's "
             "state arrives one step later. For sgp layerwise is the same as none."),
      Int("spec.exchange.average_every", GG_REF(exchange.average_every), "steps",
          From(0, kMaxCount), "An exact average over all workers every N steps. 0 = never."),
      Float("spec.exchange.deadline_seconds", GG_REF(exchange.deadline_seconds), "seconds",
            From(0.001, 3600),
            "How long a step waits for its partner before it goes on without it."),
      Int("spec.exchange.bucket_bytes", GG_REF(exchange.bucket_bytes), "bytes", From(0, 1 << 30),
          "Adjacent layers are sent together up to this size. 0 = each layer on its own."),
      Int("spec.exchange.period", GG_REF(exchange.period), "steps", From(0, kMaxCount),
          "Steps between two averages. 0 = ceil(log2 p) for periodic-average, 8 for local-sgd, 5 "
          "for "
          "cocod, 4 for easgd."),
      Float("spec.exchange.local_from_epoch", GG_REF(exchange.local_from_epoch), "epochs",
            From(0, 1e6),
            "Averages after every step before this epoch (post-local SGD). 0 = never."),
      Choice(
          "spec.exchange.collective", GG_REF(exchange.collective),
          {"auto", "ring", "halving-doubling", "recursive-doubling"},
          "How sums over all workers, or over those of a group, travel. auto: by the size of the "
          "vector. `average_every` and `final_average` always use the ring."),
      Float("spec.exchange.collective_seconds", GG_REF(exchange.collective_seconds), "seconds",
            From(0.001, 86400),
            "How long a step waits for all other workers, where the algorithm needs all of them, "
            "before the job ends."),
      Choice("spec.exchange.encoding", GG_REF(exchange.encoding),
             {"fp32", "bf16", "fp16", "int8", "topk"},
             "How values travel. bf16, fp16: half the bytes. int8: a quarter, blocks with a common "
             "exponent and stochastic rounding. topk: the largest gradients and where they are; "
             "the rest is added to the next ones."),
      Float("spec.exchange.topk_share", GG_REF(exchange.topk_share), "", Above(0, 1),
            "Share of the values that travel."),
      Float("spec.exchange.push_probability", GG_REF(exchange.push_probability), "", Above(0, 1),
            "Probability that a worker pushes its model after a step."),
      Float("spec.exchange.elastic_beta", GG_REF(exchange.elastic_beta), "", Above(0, 1),
            "Moving rate of the centre towards all workers together; each pulls with this share "
            "divided by the number of workers."),
      Bool("spec.exchange.asynchronous", GG_REF(exchange.asynchronous),
           "Nobody waits for the others."),
      Int("spec.exchange.staleness_bound", GG_REF(exchange.staleness_bound), "steps",
          From(0, kMaxCount),
          "How many steps old a message may be: sgp waits for it then, the others refuse it. 0 = 1 "
          "for sgp, no bound for the others."),
      Float("spec.exchange.norm_limit", GG_REF(exchange.norm_limit), "", From(0, 1e12),
            "Received weights whose norm is more than this times the own norm are refused. 0 = no "
            "limit."),
      Int("spec.exchange.quarantine_after", GG_REF(exchange.quarantine_after), "messages",
          From(0, kMaxCount),
          "So many refused messages of a worker in a row, and what it sends is left out for a "
          "while. 0 = never."),
      Bool(
          "spec.exchange.proportional_batches", GG_REF(exchange.proportional_batches),
          "Batches in proportion to the measured speed of the workers, `train.batch_size` on the "
          "average: all finish a step together. Speeds are measured anew by each run, which is why "
          "two runs differ. Needs `data.exchange` none."),
      Bool("spec.exchange.final_average", GG_REF(exchange.final_average),
           "Close with an exact average of all replicas; that average is the result."),

      Int("spec.train.epochs", GG_REF(train.epochs), "epochs", From(1, 1000000),
          "Passes over the training set."),
      Int("spec.train.max_steps", GG_REF(train.max_steps), "steps", From(0, kMaxCount),
          "Stop after N steps, even within an epoch. 0 = by epochs alone."),
      Int("spec.train.batch_size", GG_REF(train.batch_size), "samples", From(1, 1 << 20),
          "Samples per worker and step."),
      Uint("spec.train.seed", GG_REF(train.seed),
           "Start of every random choice: weights, order of samples, partners."),
      Int("spec.train.evaluate_every_epochs", GG_REF(train.evaluate_every_epochs), "epochs",
          From(0, 1000000), "Score the test set every N epochs. 0 = only at the end."),

      Int("spec.workers.min", GG_REF(workers.min), "workers", From(1, 4096),
          "The job waits until it can have this many workers."),
      Int("spec.workers.max", GG_REF(workers.max), "workers", From(1, 4096),
          "It takes up to this many if they are free when it starts. With fewer it waits a moment "
          "for more to come. `ggctl local run` always starts this many."),
      Int("spec.workers.threads", GG_REF(workers.threads), "threads", From(0, 1024),
          "Compute threads of one worker. 0 = as many as the worker was started with: all CPUs it "
          "may use, in `ggctl local run` its share of them."),
      Choice(
          "spec.workers.device", GG_REF(workers.device), {"auto", "reference", "onednn"},
          "What computes. auto: what the worker was started with, by default the fastest it has. "
          "reference: plain loops, slow, for comparison. onednn: the oneDNN library."),
      Choice("spec.workers.transport", GG_REF(workers.transport), {"auto", "grpc"},
             "What the exchange runs over. auto: any, the same for all workers of the job. grpc: "
             "HTTP/2 over TCP."),
      Float("spec.workers.start_timeout_seconds", GG_REF(workers.start_timeout_seconds), "seconds",
            From(0.1, 86400),
            "Time from the choice of workers until all of them have loaded data and built the "
            "network."),
  };
  return table;
}

#undef GG_REF

const std::vector<Section>& SectionTable() {
  static const auto& table = *new std::vector<Section>{
      {"metadata", "Who the job is."},
      {"spec", "What to train, on what, and how the workers exchange."},
      {"spec.model", "The network."},
      {"spec.data", "The training and test sets, and whether samples travel between workers."},
      {"spec.optimizer", "The update rule."},
      {"spec.learning_rate", "The learning rate over time and over the number of workers."},
      {"spec.exchange", "How the replicas of the workers stay together."},
      {"spec.train", "How long, in which batches, from which seed."},
      {"spec.workers", "How many workers, and what they compute and talk with."},
  };
  return table;
}

}  // namespace gg::internal
