// SPDX-License-Identifier: Apache-2.0
//
// JobSpec: everything that a user can say about a training run, as plain values with their defaults.
// The field table (core/spec/schema.h) gives each field its path, unit, range and help text; the job file reader,
// `ggctl explain`, the wire codec and the validation all go by that table. To add a field: add it here, one line in
// the table, one in proto/gossipgrad/v1/job.proto and one in proto/codec.
// Thread-safety: values.
#ifndef GOSSIPGRAD_CORE_SPEC_JOB_SPEC_H_
#define GOSSIPGRAD_CORE_SPEC_JOB_SPEC_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gg {

struct ModelSpec {
  std::string name = "lenet";           // lenet | cifarnet | mlp
  std::vector<int64_t> hidden = {512};  // mlp only: widths of the hidden layers
  double dropout = 0.0;  // mlp only: probability of dropping a hidden activation, [0, 1)
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

struct DataSpec {
  std::string format = "idx";     // idx | cifar10 | cifar100 | synthetic
  std::string path;               // folder that holds the files (not for synthetic)
  double mean = 0.0;              // subtracted from pixels scaled to [0, 1]
  double stddev = 1.0;            // divides afterwards; > 0
  std::string exchange = "ring";  // ring | none: whether used samples travel to the next worker
  int64_t limit_train = 0;        // use the first N training samples; 0 = all
  int64_t limit_test = 0;         // use the first N test samples; 0 = all
  int64_t classes = 10;  // labels are 0 .. classes-1 (idx, synthetic; the CIFAR formats fix it)
  // synthetic only
  std::vector<int64_t> shape = {1, 28, 28};  // channels, height, width
  int64_t train_samples = 4096;
  int64_t test_samples = 1024;
  friend bool operator==(const DataSpec&, const DataSpec&) = default;
};

struct OptimizerSpec {
  std::string name = "sgd";         // sgd | sgd-pytorch | adam | adamw | lars | lamb
  double momentum = 0.9;            // sgd, sgd-pytorch, lars: [0, 1)
  double weight_decay = 0.0;        // coefficient, >= 0
  bool nesterov = false;            // sgd, sgd-pytorch: the step looks ahead along the momentum
  double beta1 = 0.9;               // adam, adamw, lamb: kept of the first moment, [0, 1)
  double beta2 = 0.999;             // adam, adamw, lamb: kept of the second moment, [0, 1)
  double epsilon = 1e-8;            // adam, adamw, lamb: added to the root of the second moment
  double trust_coefficient = 1e-3;  // lars: length of a step over that of the weights
  double clip_norm = 0.0;           // bound of the norm of a worker's gradient; 0 = none
  double clip_value = 0.0;          // bound of the size of each value of it; 0 = none
  std::map<std::string, double> weight_decays = {};  // by patterns of parameter names
  std::map<std::string, double> rate_factors = {};   // by patterns of parameter names
  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

struct LearningRateSpec {
  double base = 0.01;
  // constant | step | multi-step | exponential | inverse | poly | cosine
  std::string policy = "cosine";
  double gamma = 0.1;                    // step, multi-step, exponential, inverse
  double step_epochs = 10;               // step: epochs between drops
  std::vector<int64_t> milestones = {};  // multi-step: epochs at which the rate drops
  double power = 1.0;                    // poly, inverse: exponent
  double floor = 0.0;                    // cosine: share of the full rate that is left at the end
  double warmup_epochs = 0;              // linear ramp from base/steps to the full rate
  std::string scaling = "none";  // none | linear | sqrt: factor on `base` for the number of workers
  double max_scaled = 0.0;       // upper bound of the scaled rate; 0 = no bound
  friend bool operator==(const LearningRateSpec&, const LearningRateSpec&) = default;
};

struct ExchangeSpec {
  // gossip-grad | allreduce | allreduce-layerwise | reduce-scatter | periodic-average | local-sgd |
  // cocod | d-psgd | ad-psgd | sgp | gosgd | easgd | none
  std::string algorithm = "gossip-grad";
  // dissemination | hypercube | ring | exponential | random | hierarchical | graph
  std::string schedule = "dissemination";
  std::string graph_file;             // graph only: path of the same file on every worker
  std::string topology = "host";      // hierarchical only: workers with equal labels form a group
  bool rotate = true;                 // a new seeded permutation of ranks every ceil(log2 p) steps
  std::string payload = "weights";    // gradients | weights | weights-momentum
  std::string overlap = "layerwise";  // none | layerwise | step
  int64_t average_every = 0;          // exact average over all workers every N steps; 0 = never
  double deadline_seconds =
      5.0;             // how long a step waits for its partner before it goes on without it
  int64_t period = 0;  // steps between averages of methods that have a period; 0 = the method's own
  double local_from_epoch = 0;      // local-sgd: average after every step before this epoch
  std::string collective = "auto";  // auto | ring | halving-doubling | recursive-doubling
  double collective_seconds = 60;   // how long a collective waits for everybody before the job ends
  int64_t bucket_bytes = 1 << 20;   // adjacent layers are sent together up to this size
  bool final_average = true;        // close with an exact average of all replicas
  std::string encoding = "fp32";    // fp32 | bf16 | fp16 | int8 | topk: how floats travel
  double topk_share = 0.01;         // topk only: share of the values that travel, (0, 1]
  double push_probability = 0.1;    // gosgd: of a push after a step, (0, 1]
  double elastic_beta = 0.9;        // easgd: moving rate of the centre for all workers together
  bool asynchronous = true;         // easgd: nobody waits for the others
  int64_t staleness_bound = 0;      // steps a message may be old; 0 = the method's own
  double norm_limit =
      100;  // refuse received weights of more than this times the own norm; 0 = no limit
  int64_t quarantine_after = 3;  // refused messages in a row before a peer is left out; 0 = never
  bool proportional_batches = false;  // cocod: batches by the measured speed of the workers
  friend bool operator==(const ExchangeSpec&, const ExchangeSpec&) = default;
};

struct TrainSpec {
  int64_t epochs = 5;
  int64_t max_steps = 0;    // stop after N steps; 0 = by epochs alone
  int64_t batch_size = 64;  // samples per worker and step
  uint64_t seed = 1;
  int64_t evaluate_every_epochs = 1;  // 0 = only at the end
  friend bool operator==(const TrainSpec&, const TrainSpec&) = default;
};

struct WorkersSpec {
  int64_t min = 1;
  int64_t max = 1;
  int64_t threads = 0;             // compute threads of one worker; 0 = its share of the CPU quota
  std::string device = "auto";     // auto | reference | onednn
  std::string transport = "auto";  // auto | grpc
  double start_timeout_seconds = 60;  // from assignment to all workers being prepared
  friend bool operator==(const WorkersSpec&, const WorkersSpec&) = default;
};

struct JobSpec {
  std::string name;  // metadata.name: DNS label
  std::map<std::string, std::string> labels;
  ModelSpec model;
  DataSpec data;
  OptimizerSpec optimizer;
  LearningRateSpec learning_rate;
  ExchangeSpec exchange;
  TrainSpec train;
  WorkersSpec workers;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

}  // namespace gg

#endif  // GOSSIPGRAD_CORE_SPEC_JOB_SPEC_H_
