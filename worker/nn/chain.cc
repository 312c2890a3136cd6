// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/chain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/rng.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr BlockIndex kNoBlock = -1;

// A layer with its place in the plan.
struct Link {
  std::unique_ptr<Layer> layer;
  InputShape input, output;
  BlockIndex block = kNoBlock;
  size_t first_tensor = 0;  // of the layer, among those of the block
  std::vector<Flat> weights = {}, gradients = {}, buffers = {};
  Flat x = {}, y = {};  // y is x for a layer in place

  // The block's lowest layer: the first that needs it and the last to finish its gradient.
  bool owns_block() const { return block != kNoBlock && !layer->joins_block_below(); }
};

// Of two, so that a layer reads one and writes the other.
constexpr int kDiffBuffers = 2;

class Chain : public Network {
 public:
  Chain(Device& device, const NetworkOptions& options)
      : device_(device),
        batch_(options.batch_size),
        classes_(options.classes),
        input_floats_(options.input.floats()) {}

  absl::Status Prepare(const NetworkOptions& options, std::vector<std::unique_ptr<Layer>> layers) {
    GG_ASSIGN_OR_RETURN(stream_, device_.MakeStream());
    GG_RETURN_IF_ERROR(PlanShapes(options, std::move(layers)));
    GG_RETURN_IF_ERROR(PlanParameters(options));
    GG_RETURN_IF_ERROR(PlanActivations());
    for (Link& link : links_) {
      const BindOptions bind{.batch = batch_,
                             .input = link.input,
                             .seed = options.seed,
                             .rank = options.rank,
                             .buffers = link.buffers};
      GG_RETURN_IF_ERROR(Annotate(link.layer->Bind(device_, bind), link.layer->name()));
    }
    return absl::OkStatus();
  }

  ParamArena& arena() override { return *arena_; }
  int64_t batch_size() const override { return batch_; }

  absl::StatusOr<LossResult> Forward(uint64_t step, ConstFlat x, absl::Span<const int32_t> labels,
                                     BlockNeeded needed) override {
    ready_for_backward_ = false;
    if (static_cast<int64_t>(labels.size()) != batch_) {
      return absl::InvalidArgumentError(absl::StrCat("a training step takes ", batch_,
                                                     " samples, got ", labels.size(), " labels"));
    }
    GG_RETURN_IF_ERROR(LoadInput(x, batch_));
    for (Link& link : links_) {
      if (link.owns_block()) GG_RETURN_IF_ERROR(needed(link.block));
      GG_RETURN_IF_ERROR(Annotate(link.layer->Forward(*stream_, step, link.weights, link.x, link.y),
                                  link.layer->name()));
    }
    const Flat logits = links_.back().y;
    GG_ASSIGN_OR_RETURN(
        const LossResult result,
        device_.SoftmaxCrossEntropy(*stream_, logits, labels, classes_,
                                    1.0f / static_cast<float>(batch_), Diff(0, logits.size())));
    ready_for_backward_ = true;
    return result;
  }

  absl::Status Backward(GradientReady ready) override {
    if (!ready_for_backward_) {
      return absl::FailedPreconditionError(
          "Backward without a Forward before it: activations are missing or overwritten");
    }
    ready_for_backward_ = false;
    int diff = 0;
    Flat dy = Diff(diff, links_.back().y.size());
    for (int i = static_cast<int>(links_.size()) - 1; i >= first_trained_; --i) {
      Link& link = links_[i];
      Layer& layer = *link.layer;
      if (link.block != kNoBlock) {
        GG_RETURN_IF_ERROR(
            Annotate(layer.BackwardParams(*stream_, link.x, dy, link.gradients), layer.name()));
      }
      if (i > first_trained_) {
        if (!layer.in_place()) diff = (diff + 1) % kDiffBuffers;
        const Flat dx = Diff(diff, link.x.size());
        GG_RETURN_IF_ERROR(Annotate(
            layer.BackwardData(*stream_, link.weights, link.x, link.y, dy, dx), layer.name()));
        dy = dx;
      }
      // Last, because `ready` may update the weights that the data gradient has just been computed
      // from.
      if (link.owns_block()) GG_RETURN_IF_ERROR(ready(link.block));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<LossResult> Evaluate(ConstFlat x, absl::Span<const int32_t> labels) override {
    ready_for_backward_ = false;
    const size_t samples = labels.size();
    if (x.size() != samples * static_cast<size_t>(input_floats_))
      return InputError(x.size(), samples);
    LossResult total;
    for (size_t at = 0; at < samples; at += static_cast<size_t>(batch_)) {
      const size_t count = std::min(samples - at, static_cast<size_t>(batch_));
      GG_RETURN_IF_ERROR(LoadInput(x.subspan(at * input_floats_, count * input_floats_), count));
      ConstFlat out = input_;
      for (Link& link : links_) {
        if (link.layer->training_only()) continue;
        GG_RETURN_IF_ERROR(
            Annotate(link.layer->Infer(*stream_, link.weights, out, link.y), link.layer->name()));
        out = link.y;
      }
      GG_ASSIGN_OR_RETURN(
          const LossResult part,
          device_.SoftmaxCrossEntropy(*stream_, out.subspan(0, count * classes_),
                                      labels.subspan(at, count), classes_, 0.0f, Flat()));
      total.loss_sum += part.loss_sum;
      total.correct += part.correct;
    }
    return total;
  }

 private:
  absl::Status PlanShapes(const NetworkOptions& options,
                          std::vector<std::unique_ptr<Layer>> layers) {
    InputShape shape = options.input;
    for (auto& layer : layers) {
      GG_ASSIGN_OR_RETURN(const InputShape output, layer->OutputShape(shape));
      links_.push_back({.layer = std::move(layer), .input = shape, .output = output});
      shape = output;
    }
    if (shape.floats() != classes_) {
      return absl::InvalidArgumentError(absl::StrCat("the last layer gives ", shape.floats(),
                                                     " values for ", classes_, " classes"));
    }
    return absl::OkStatus();
  }

  // Blocks in the order in which back-propagation finishes them, so from the last layer to the
  // first.
  absl::Status PlanParameters(const NetworkOptions& options) {
    std::vector<BlockInfo> blocks;
    size_t buffer_floats = 0;
    bool open = false;  // the last block waits for its owner
    for (int i = static_cast<int>(links_.size()) - 1; i >= 0; --i) {
      Link& link = links_[i];
      for (const BufferSpec& b : link.layer->Buffers(link.input)) buffer_floats += b.count;
      const auto parameters = link.layer->Parameters(link.input);
      if (parameters.empty()) continue;
      if (!open) blocks.emplace_back();
      open = link.layer->joins_block_below();
      BlockInfo& block = blocks.back();
      block.name = link.layer->name();
      link.block = static_cast<BlockIndex>(blocks.size()) - 1;
      link.first_tensor = block.tensors.size();
      for (const ParameterSpec& p : parameters) {
        block.tensors.push_back({.name = absl::StrCat(block.name, ".", p.name), .shape = p.shape});
      }
      first_trained_ = i;
    }
    if (blocks.empty())
      return absl::InvalidArgumentError("the network has no layer with parameters");
    if (open) {
      return absl::InvalidArgumentError(
          absl::StrCat(blocks.back().name,
                       ": there is no layer with parameters below it to share a block with"));
    }
    GG_ASSIGN_OR_RETURN(arena_, ParamArena::Create(device_, std::move(blocks), buffer_floats));
    Flat buffers = arena_->buffers();
    for (Link& link : links_) {
      for (const BufferSpec& b : link.layer->Buffers(link.input)) {
        link.buffers.push_back(buffers.subspan(0, b.count));
        buffers.remove_prefix(b.count);
        GG_RETURN_IF_ERROR(device_.Fill(*stream_, b.initial, link.buffers.back()));
      }
      if (link.block == kNoBlock) continue;
      const auto parameters = link.layer->Parameters(link.input);
      const BlockInfo& block = arena_->block(link.block);
      for (size_t t = 0; t < parameters.size(); ++t) {
        const TensorInfo& tensor = block.tensors[link.first_tensor + t];
        link.weights.push_back(arena_->weights(tensor));
        link.gradients.push_back(arena_->gradients(tensor));
        Initialise(options.seed, tensor.name, parameters[t], link.weights.back());
      }
    }
    return absl::OkStatus();
  }

  static void Initialise(uint64_t seed, const std::string& tensor, const ParameterSpec& spec,
                         Flat weights) {
    if (spec.bound == 0) {
      std::fill(weights.begin(), weights.end(), spec.centre);
      return;
    }
    Rng rng(seed, absl::StrCat("init/", tensor));
    for (float& w : weights) w = spec.centre + spec.bound * (2.0f * rng.Uniform() - 1.0f);
  }

  absl::Status PlanActivations() {
    GG_ASSIGN_OR_RETURN(input_, Activation(input_floats_));
    Flat x = input_;
    size_t largest = 0;
    const Layer* previous = nullptr;
    for (Link& link : links_) {
      link.x = x;
      if (link.layer->in_place() && (previous == nullptr || !previous->reads_output())) {
        link.y = x;
      } else {
        GG_ASSIGN_OR_RETURN(link.y, Activation(link.output.floats()));
      }
      largest = std::max({largest, link.x.size(), link.y.size()});
      x = link.y;
      previous = link.layer.get();
    }
    for (auto& diff : diffs_) {
      GG_ASSIGN_OR_RETURN(diff, device_.Allocate(largest * sizeof(float)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Flat> Activation(int64_t floats_per_sample) {
    GG_ASSIGN_OR_RETURN(
        auto buffer,
        device_.Allocate(static_cast<size_t>(batch_ * floats_per_sample) * sizeof(float)));
    activations_.push_back(std::move(buffer));
    return activations_.back()->floats();
  }

  Flat Diff(int which, size_t floats) { return diffs_[which]->floats().subspan(0, floats); }

  absl::Status InputError(size_t floats, size_t samples) const {
    return absl::InvalidArgumentError(absl::StrCat("input has ", floats, " values, ", samples,
                                                   " samples of ", input_floats_, " need ",
                                                   samples * static_cast<size_t>(input_floats_)));
  }

  // The network keeps its own copy: the caller's batch may move on before Backward needs the input
  // again.
  absl::Status LoadInput(ConstFlat x, size_t samples) {
    if (x.size() != samples * static_cast<size_t>(input_floats_))
      return InputError(x.size(), samples);
    GG_RETURN_IF_ERROR(device_.Copy(*stream_, x, input_.subspan(0, x.size())));
    // The unused rows of a short slice are computed and ignored.
    return device_.Fill(*stream_, 0.0f, input_.subspan(x.size()));
  }

  Device& device_;
  const int64_t batch_, classes_, input_floats_;
  std::unique_ptr<Stream> stream_;
  std::vector<Link> links_;
  std::unique_ptr<ParamArena> arena_;
  std::vector<std::unique_ptr<Buffer>> activations_;
  std::unique_ptr<Buffer> diffs_[kDiffBuffers];
  Flat input_;
  int first_trained_ = 0;  // nothing below this layer needs a gradient
  bool ready_for_backward_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> MakeChain(Device& device, const NetworkOptions& options,
                                                   std::vector<std::unique_ptr<Layer>> layers) {
  auto chain = std::make_unique<Chain>(device, options);
  GG_RETURN_IF_ERROR(chain->Prepare(options, std::move(layers)));
  return chain;
}

}  // namespace gg
