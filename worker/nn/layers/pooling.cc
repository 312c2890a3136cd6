// SPDX-License-Identifier: Apache-2.0
#include "worker/nn/layers/pooling.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

class Pooling : public Layer {
 public:
  Pooling(std::string name, const PoolingOptions& options)
      : Layer(std::move(name)), options_(options) {}

  absl::StatusOr<InputShape> OutputShape(const InputShape& input) const override {
    if (input.height < options_.kernel || input.width < options_.kernel) {
      return absl::InvalidArgumentError(absl::StrCat(name(), ": its input of ", input.height, "x",
                                                     input.width, " is smaller than its window of ",
                                                     options_.kernel, "x", options_.kernel,
                                                     ": use larger images or another model"));
    }
    const Pool2dDesc desc = Describe(1, input);
    return InputShape{input.channels, desc.out_height(), desc.out_width()};
  }

  absl::Status Bind(Device& device, const BindOptions& options) override {
    GG_ASSIGN_OR_RETURN(op_, device.MakePool2d(Describe(options.batch, options.input)));
    return absl::OkStatus();
  }

  absl::Status Forward(Stream& stream, uint64_t step, Tensors weights, ConstFlat x,
                       Flat y) override {
    return op_->Forward(stream, x, y);
  }
  absl::Status BackwardData(Stream& stream, Tensors weights, ConstFlat x, ConstFlat y, ConstFlat dy,
                            Flat dx) override {
    return op_->Backward(stream, dy, dx);
  }

 private:
  Pool2dDesc Describe(int64_t batch, const InputShape& input) const {
    Pool2dDesc desc{};
    desc.kind = options_.kind;
    desc.batch = batch;
    desc.channels = input.channels;
    desc.in_height = input.height;
    desc.in_width = input.width;
    desc.kernel_height = desc.kernel_width = options_.kernel;
    desc.stride_height = desc.stride_width = options_.stride;
    desc.ceil_mode = options_.ceil_mode;
    return desc;
  }

  const PoolingOptions options_;
  std::unique_ptr<Pool2d> op_;
};

}  // namespace

std::unique_ptr<Layer> MakePooling(std::string name, const PoolingOptions& options) {
  return std::make_unique<Pooling>(std::move(name), options);
}

}  // namespace gg
