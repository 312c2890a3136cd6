// SPDX-License-Identifier: Apache-2.0
#include "core/spec/validate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/spec/exchange_use.h"
#include "core/spec/optimizer_rules.h"
#include "core/spec/schema.h"
#include "core/spec/suggest.h"
#include "core/worker_id.h"

namespace gg {
namespace {

constexpr size_t kMaxName = 63;
constexpr size_t kMaxLabels = 64;
constexpr size_t kMaxPath = 4096;
constexpr size_t kMaxListLength = 64;
// One sample of a synthetic set: 64 MiB of pixels.
constexpr int64_t kMaxSampleValues = int64_t{1} << 26;
// What a worker holds in memory of a synthetic set, a byte a value (kMostSplitBytes of its readers),
// and of an mlp, four bytes a weight.
constexpr double kMaxSyntheticBytes = 64.0 * (1 << 30);
constexpr double kMaxWeightBytes = 16.0 * (1 << 30);
// The smallest side of an image from which something is left after the last pooling.
constexpr int64_t kLeastLenetSide = 16;
constexpr int64_t kLeastCifarnetSide = 12;

std::string GiB(double bytes) {
  return absl::StrCat(std::llround(bytes / (1 << 30)), " GiB");
}

class Checker {
 public:
  explicit Checker(const JobSpec& spec) : spec_(spec) {}

  std::vector<FieldError> Run() {
    for (const Field& field : Fields()) CheckField(field);
    CheckName();
    CheckLabels();
    CheckModel();
    CheckData();
    CheckOptimizer();
    CheckPayload();
    CheckEncoding();
    CheckSchedule();
    CheckWorkers();
    // Field by field as in the table, so that a reader goes through the file once.
    std::stable_sort(errors_.begin(), errors_.end(), [](const FieldError& a, const FieldError& b) {
      return TablePosition(a.path) < TablePosition(b.path);
    });
    return std::move(errors_);
  }

 private:
  static size_t TablePosition(absl::string_view path) {
    const auto fields = Fields();
    const auto it =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.path == path; });
    return static_cast<size_t>(it - fields.begin());
  }

  void Add(absl::string_view path, std::string message, std::string suggestion = "") {
    errors_.push_back({std::string(path), std::move(message), std::move(suggestion)});
  }
  bool Has(absl::string_view path) const {
    return std::any_of(errors_.begin(), errors_.end(),
                       [&](const FieldError& e) { return e.path == path; });
  }

  template <typename T>
  bool CheckNumber(const Field& field, T v, absl::string_view where) {
    if constexpr (std::is_integral_v<T>) {
      if (field.range.ContainsWhole(v)) return true;
    } else {
      if (field.range.Contains(v)) return true;
    }
    Add(field.path,
        absl::StrCat("must satisfy ", field.range.ToString(), ", got ", where, ValueToText(v)));
    return false;
  }

  void CheckField(const Field& field) {
    const FieldValue value = GetField(field, spec_);
    switch (field.type) {
      case FieldType::kString:
        CheckChoice(field, std::get<std::string>(value));
        break;
      case FieldType::kInt:
        CheckNumber(field, std::get<int64_t>(value), "");
        break;
      case FieldType::kFloat:
        CheckNumber(field, std::get<double>(value), "");
        break;
      case FieldType::kIntList:
        CheckList(field, std::get<std::vector<int64_t>>(value));
        break;
      case FieldType::kFloatMap:
        CheckMap(field, std::get<std::map<std::string, double>>(value));
        break;
      case FieldType::kUint:
      case FieldType::kBool:
      case FieldType::kStringMap:
        break;
    }
  }

  void CheckList(const Field& field, const std::vector<int64_t>& list) {
    if (list.size() > kMaxListLength) {
      Add(field.path, absl::StrCat("at most ", kMaxListLength, " values, got ", list.size()));
      return;
    }
    for (size_t i = 0; i < list.size(); ++i) {
      if (!CheckNumber(field, list[i], absl::StrCat("value ", i + 1, ": "))) return;
    }
  }

  // Keys are patterns of parameter names.
  void CheckMap(const Field& field, const std::map<std::string, double>& map) {
    if (map.size() > kMaxListLength) {
      Add(field.path, absl::StrCat("at most ", kMaxListLength, " patterns, got ", map.size()));
      return;
    }
    const auto plain = [](char c) {
      return absl::ascii_isalnum(c) || absl::StrContains("*?._-", absl::string_view(&c, 1));
    };
    for (const auto& [key, value] : map) {
      if (key.empty() || key.size() > kMaxName || !std::all_of(key.begin(), key.end(), plain)) {
        Add(field.path,
            absl::StrCat("pattern \"", key, "\" must be 1 to ", kMaxName,
                         " letters, digits, '*', '?', '.', '_' or '-'"),
            "for example *.bias");
        return;
      }
      if (!CheckNumber(field, value, absl::StrCat("\"", key, "\": "))) return;
    }
  }

  void CheckChoice(const Field& field, const std::string& value) {
    if (field.choices.empty()) return;
    if (std::find(field.choices.begin(), field.choices.end(), value) != field.choices.end()) return;
    const std::vector<std::string> choices(field.choices.begin(), field.choices.end());
    const std::string near = Nearest(value, choices);
    Add(field.path,
        absl::StrCat("must be one of ", absl::StrJoin(choices, ", "), ", got \"", value, "\""),
        near.empty() ? "" : absl::StrCat("did you mean \"", near, "\"?"));
  }

  void CheckName() {
    const std::string& name = spec_.name;
    if (name.empty()) {
      Add("metadata.name", "is required", "give the job a name, for example my-job");
      return;
    }
    const auto inner = [](char c) {
      return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
    };
    const bool good = name.size() <= kMaxName && std::all_of(name.begin(), name.end(), inner) &&
                      name.front() != '-' && name.back() != '-';
    if (good) return;
    std::string better;
    for (const char c : name.substr(0, kMaxName)) {
      const char lower = absl::ascii_tolower(c);
      better.push_back(inner(lower) ? lower : '-');
    }
    while (!better.empty() && better.front() == '-') better.erase(0, 1);
    while (!better.empty() && better.back() == '-') better.pop_back();
    Add("metadata.name",
        absl::StrCat("must be 1 to ", kMaxName,
                     " lower-case letters, digits or '-', and not begin or end with '-', got \"",
                     name, "\""),
        better.empty() ? "" : absl::StrCat("for example \"", better, "\""));
  }

  void CheckLabels() {
    if (spec_.labels.size() > kMaxLabels) {
      Add("metadata.labels",
          absl::StrCat("at most ", kMaxLabels, " labels, got ", spec_.labels.size()));
      return;
    }
    const auto plain = [](char c) {
      return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
    };
    for (const auto& [key, value] : spec_.labels) {
      if (key.empty() || key.size() > 253 || !std::all_of(key.begin(), key.end(), plain)) {
        Add("metadata.labels",
            absl::StrCat("key \"", key,
                         "\" must be 1 to 253 letters, digits, '-', '_', '.' or '/'"));
      }
      if (value.size() > kMaxName || !std::all_of(value.begin(), value.end(), plain)) {
        Add("metadata.labels",
            absl::StrCat("value of \"", key, "\" must be at most ", kMaxName,
                         " letters, digits, '-', '_', '.' or '/', got \"", value, "\""));
      }
    }
  }

  void CheckModel() {
    if (spec_.model.name == "mlp" && spec_.model.hidden.empty()) {
      Add("spec.model.hidden", "mlp needs at least one hidden layer", "for example [512]");
    } else if (spec_.model.name == "mlp" && !Has("spec.model.hidden")) {
      CheckWeights();
    }
    // On the average a worker has so many samples, so that they can be shared out with no less for anyone.
    if (const int64_t least = LeastBatch(spec_.model);
        spec_.train.batch_size < least && !Has("spec.train.batch_size")) {
      Add("spec.train.batch_size",
          absl::StrCat(spec_.model.name,
                       " normalises over the batch, and one sample has no variance"),
          absl::StrCat("use a batch of at least ", least));
    }
  }

  // Inputs whose number only the files tell count as one.
  void CheckWeights() {
    const DataSpec& data = spec_.data;
    double inputs = 1;
    if (data.format == "synthetic") {
      for (const int64_t side : data.shape)
        inputs *= static_cast<double>(std::max<int64_t>(side, 1));
    } else if (data.format == "cifar10" || data.format == "cifar100") {
      inputs = 3 * 32 * 32;
    }
    double weights = 0;
    for (const int64_t width : spec_.model.hidden) {
      weights += inputs * static_cast<double>(width);
      inputs = static_cast<double>(width);
    }
    weights += inputs * static_cast<double>(std::max<int64_t>(data.classes, 1));
    if (const double bytes = weights * sizeof(float); bytes > kMaxWeightBytes) {
      Add("spec.model.hidden",
          absl::StrCat("these layers have weights of ", GiB(bytes), ", at most ",
                       GiB(kMaxWeightBytes), " are possible"),
          "use narrower layers or smaller images");
    }
  }

  // `data.shape` is good.
  void CheckSyntheticSize() {
    const DataSpec& data = spec_.data;
    const double sample = static_cast<double>(data.shape[0] * data.shape[1] * data.shape[2]);
    const std::pair<const char*, int64_t> counts[] = {
        {"spec.data.train_samples", data.train_samples},
        {"spec.data.test_samples", data.test_samples},
        {"spec.data.classes", data.classes}};
    for (const auto& [path, count] : counts) {
      const double bytes = sample * static_cast<double>(count);
      if (bytes <= kMaxSyntheticBytes || Has(path)) continue;
      Add(path,
          absl::StrCat(count, " images of ", sample, " bytes take ", GiB(bytes),
                       " of memory, at most ", GiB(kMaxSyntheticBytes), " are possible"),
          "lower it, or make spec.data.shape smaller");
    }
    const bool lenet = spec_.model.name == "lenet" || spec_.model.name == "lenet-bn";
    const int64_t least = lenet                            ? kLeastLenetSide
                          : spec_.model.name == "cifarnet" ? kLeastCifarnetSide
                                                           : 1;
    if (data.shape[1] >= least && data.shape[2] >= least) return;
    Add("spec.data.shape",
        absl::StrCat(spec_.model.name, " needs images of at least ", least, "x", least, ", got ",
                     data.shape[1], "x", data.shape[2]),
        "use larger images or another model");
  }

  static bool IsPath(const std::string& path) {
    return path.size() <= kMaxPath && path.find('\0') == std::string::npos;
  }

  void CheckData() {
    const DataSpec& data = spec_.data;
    if (!IsPath(data.path)) {
      Add("spec.data.path", absl::StrCat("must be a path of at most ", kMaxPath, " bytes"));
    }
    if (Has("spec.data.format")) return;  // what else is needed depends on it
    if (data.format != "synthetic") {
      if (data.path.empty()) {
        Add("spec.data.path", absl::StrCat("is required for format ", data.format),
            "name the folder that holds the files, or set spec.data.format to synthetic");
      }
      CheckEnoughSamples("spec.data.limit_train", data.limit_train);
      return;
    }
    if (data.shape.size() != 3) {
      Add("spec.data.shape",
          absl::StrCat("needs three values (channels, height, width), got ", data.shape.size()),
          "for example [1, 28, 28]");
    } else if (!Has("spec.data.shape") &&
               data.shape[0] * data.shape[1] * data.shape[2] > kMaxSampleValues) {
      Add("spec.data.shape",
          absl::StrCat("one sample may have at most ", kMaxSampleValues, " values"));
    } else if (!Has("spec.data.shape")) {
      CheckSyntheticSize();
    }
    CheckEnoughSamples("spec.data.train_samples", data.train_samples);
    CheckEnoughSamples("spec.data.limit_train", data.limit_train);
  }

  // Each worker must own a sample; 0 stands for "all", which only the files can tell.
  void CheckEnoughSamples(absl::string_view path, int64_t samples) {
    if (samples <= 0 || samples >= spec_.workers.max || Has("spec.workers.max")) return;
    Add(path, absl::StrCat("each worker needs at least one sample, got ", samples, " for up to ",
                           spec_.workers.max, " workers"));
  }

  void CheckOptimizer() {
    for (FieldError& error : OptimizerErrors(spec_)) {
      if (!Has(error.path)) errors_.push_back(std::move(error));
    }
  }

  // The workers refuse the same, whatever their number (worker/exchange/registry.cc).
  void CheckPayload() {
    const ExchangeSpec& exchange = spec_.exchange;
    if (Has("spec.exchange.payload") || exchange.payload == "weights") return;
    static constexpr absl::string_view kOfWeights[] = {"d-psgd", "sgp", "gosgd", "ad-psgd",
                                                       "easgd"};
    if (std::find(std::begin(kOfWeights), std::end(kOfWeights), exchange.algorithm) !=
        std::end(kOfWeights)) {
      Add("spec.exchange.payload",
          absl::StrCat(exchange.algorithm, " exchanges models and keeps momentum local, got \"",
                       exchange.payload, "\""),
          "use payload weights, or algorithm gossip-grad");
    } else if (exchange.algorithm == "local-sgd" && exchange.payload == "gradients") {
      Add("spec.exchange.payload", "local-sgd averages models, got \"gradients\"",
          "use payload weights or weights-momentum");
    }
  }

  // What topk leaves out is made good by the next message to a partner, and only gradients add up so.
  void CheckEncoding() {
    const ExchangeSpec& exchange = spec_.exchange;
    if (exchange.encoding != "topk") return;
    if (exchange.algorithm == "gossip-grad" && exchange.payload == "gradients") return;
    Add("spec.exchange.encoding",
        absl::StrCat("topk is for gradients that go to a partner, not for ", exchange.algorithm,
                     " with payload ", exchange.payload),
        "use algorithm gossip-grad with payload gradients, or encoding int8");
  }

  // Workers look at the schedule only then (worker/exchange/registry.cc).
  bool HasPartners() const { return IsUsed(spec_.exchange, "spec.exchange.schedule"); }

  void CheckSchedule() {
    const ExchangeSpec& exchange = spec_.exchange;
    if (!IsPath(exchange.graph_file)) {
      Add("spec.exchange.graph_file",
          absl::StrCat("must be a path of at most ", kMaxPath, " bytes"));
    }
    if (const absl::Status name = CheckTopology({{exchange.topology, "x"}}); !name.ok()) {
      Add("spec.exchange.topology", std::string(name.message()));
    }
    if (HasPartners() && exchange.schedule == "graph" && exchange.graph_file.empty()) {
      Add("spec.exchange.graph_file", "is required for schedule graph",
          "name the file that says who meets whom, or choose another schedule");
    }
  }

  void CheckWorkers() {
    const WorkersSpec& workers = spec_.workers;
    if (Has("spec.workers.min") || Has("spec.workers.max")) return;
    if (workers.min > workers.max) {
      Add("spec.workers.max",
          absl::StrCat("must not be below spec.workers.min, got min ", workers.min, ", max ",
                       workers.max),
          absl::StrCat("set max to ", workers.min, " or more"));
      return;
    }
    CheckProportionalBatches();
    CheckReduceScatter();
    if (!HasPartners()) return;
    if (spec_.exchange.schedule != "hypercube") return;
    for (int64_t size = workers.min; size <= workers.max; ++size) {
      if ((size & (size - 1)) == 0) continue;
      Add("spec.exchange.schedule",
          absl::StrCat("hypercube needs a power of two of workers, but the job may start with ",
                       size, " (min ", workers.min, ", max ", workers.max, ")"),
          "use dissemination, or set min and max to the same power of two");
      return;
    }
  }

  void CheckProportionalBatches() {
    constexpr const char* kPath = "spec.exchange.proportional_batches";
    if (!spec_.exchange.proportional_batches) return;
    if (spec_.exchange.algorithm != "cocod") {
      Add(kPath,
          absl::StrCat("only cocod weighs workers by their batches, not ",
                       spec_.exchange.algorithm),
          "set spec.exchange.algorithm to cocod");
    }
    if (spec_.data.exchange != "none") {
      Add(kPath, "workers of unequal batches cannot pass their samples on",
          "set spec.data.exchange to none");
    }
  }

  // Recursive doubling has no reduce-scatter, halving and doubling has one for powers of two.
  void CheckReduceScatter() {
    if (spec_.exchange.algorithm != "reduce-scatter") return;
    const std::string& collective = spec_.exchange.collective;
    const auto refuse = [&](std::string why) {
      Add("spec.exchange.collective", std::move(why), "use auto or ring");
    };
    if (collective == "recursive-doubling")
      refuse("recursive-doubling cannot serve reduce-scatter");
    if (collective != "halving-doubling") return;
    for (int64_t size = spec_.workers.min; size <= spec_.workers.max; ++size) {
      if ((size & (size - 1)) == 0) continue;
      return refuse(
          absl::StrCat("halving-doubling serves reduce-scatter for powers of two of workers only, "
                       "but the job may start with ",
                       size));
    }
  }

  const JobSpec& spec_;
  std::vector<FieldError> errors_;
};

}  // namespace

int64_t LeastBatch(const ModelSpec& model) {
  return model.name == "lenet-bn" ? 2 : 1;
}

std::vector<FieldError> Validate(const JobSpec& spec) {
  return Checker(spec).Run();
}

std::string ToString(const FieldError& error) {
  return absl::StrCat(error.path, ": ", error.message, error.suggestion.empty() ? "" : "; ",
                      error.suggestion);
}

absl::Status ToStatus(const std::vector<FieldError>& errors) {
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(
      errors, "\n",
      [](std::string* out, const FieldError& e) { absl::StrAppend(out, ToString(e)); }));
}

}  // namespace gg
