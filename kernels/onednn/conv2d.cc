// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/host_buffer.h"
#include "kernels/onednn/batch_conv2d.h"
#include "kernels/onednn/layer_ops.h"

namespace gg::onednn {
namespace {

using Tag = dnnl::memory::format_tag;
constexpr auto kFloat = dnnl::memory::data_type::f32;

ConvShape Shape(const Conv2dDesc& d, Tag image, Tag weights) {
  return {
      .x = Desc({d.batch, d.in_channels, d.in_height, d.in_width}, kFloat, image),
      .w = Desc({d.out_channels, d.in_channels, d.kernel_height, d.kernel_width}, kFloat, weights),
      .b = Desc({d.out_channels}, kFloat, Tag::x),
      .y = Desc({d.batch, d.out_channels, d.out_height(), d.out_width()}, kFloat, image),
      .strides = {d.stride_height, d.stride_width},
      .pad = {d.pad_height, d.pad_width}};
}

class OneDnnConv2d : public Conv2d {
 public:
  OneDnnConv2d(const Context& context, const Conv2dDesc& desc)
      : sizes_(desc), forward_(context), backward_data_(context), backward_params_(context) {}

  absl::Status Prepare(const Context& context, const Conv2dDesc& desc) {
    const ConvShape outer = Shape(desc, Tag::nchw, Tag::oihw);
    const ConvShape any = Shape(desc, Tag::any, Tag::any);
    const auto forward = ConvForward(context.engine, any);
    const auto data = ConvBackwardData(context.engine, any, forward);
    const auto params = ConvBackwardWeights(context.engine, any, forward);
    GG_RETURN_IF_ERROR(RefuseReference("Conv2d forward", forward.impl_info_str()));
    GG_RETURN_IF_ERROR(RefuseReference("Conv2d backward data", data.impl_info_str()));
    GG_RETURN_IF_ERROR(RefuseReference("Conv2d backward weights", params.impl_info_str()));

    forward_.AddInput(DNNL_ARG_SRC, outer.x, forward.src_desc());
    forward_.AddInput(DNNL_ARG_WEIGHTS, outer.w, forward.weights_desc());
    forward_.AddInput(DNNL_ARG_BIAS, outer.b, forward.bias_desc());
    forward_.AddOutput(DNNL_ARG_DST, outer.y, forward.dst_desc());
    forward_.SetPrimitive(dnnl::convolution_forward(forward), forward.scratchpad_desc());

    backward_data_.AddInput(DNNL_ARG_DIFF_DST, outer.y, data.diff_dst_desc());
    backward_data_.AddInput(DNNL_ARG_WEIGHTS, outer.w, data.weights_desc());
    backward_data_.AddOutput(DNNL_ARG_DIFF_SRC, outer.x, data.diff_src_desc());
    backward_data_.SetPrimitive(dnnl::convolution_backward_data(data), data.scratchpad_desc());

    backward_params_.AddInput(DNNL_ARG_SRC, outer.x, params.src_desc());
    backward_params_.AddInput(DNNL_ARG_DIFF_DST, outer.y, params.diff_dst_desc());
    backward_params_.AddOutput(DNNL_ARG_DIFF_WEIGHTS, outer.w, params.diff_weights_desc());
    backward_params_.AddOutput(DNNL_ARG_DIFF_BIAS, outer.b, params.diff_bias_desc());
    backward_params_.SetPrimitive(dnnl::convolution_backward_weights(params),
                                  params.scratchpad_desc());

    GG_ASSIGN_OR_RETURN(workspace_, AllocateHost(std::max({forward_.workspace_bytes(),
                                                           backward_data_.workspace_bytes(),
                                                           backward_params_.workspace_bytes()})));
    for (Pass* pass : {&forward_, &backward_data_, &backward_params_})
      pass->BindWorkspace(workspace_->data());
    return absl::OkStatus();
  }

  absl::Status Forward(Stream&, ConstFlat x, ConstFlat w, ConstFlat b, Flat y) override {
    GG_RETURN_IF_ERROR(CheckForward("Conv2d", sizes_, x, w, b, y));
    return forward_.Run({x.data(), w.data(), b.data(), y.data()});
  }
  absl::Status BackwardData(Stream&, ConstFlat dy, ConstFlat w, Flat dx) override {
    GG_RETURN_IF_ERROR(CheckBackwardData("Conv2d", sizes_, dy, w, dx));
    return backward_data_.Run({dy.data(), w.data(), dx.data()});
  }
  absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dw, Flat db) override {
    GG_RETURN_IF_ERROR(CheckBackwardParams("Conv2d", sizes_, x, dy, dw, db));
    return backward_params_.Run({x.data(), dy.data(), dw.data(), db.data()});
  }

 private:
  const Conv2dSizes sizes_;
  std::unique_ptr<Buffer> workspace_;  // shared by the passes: they run one at a time
  Pass forward_, backward_data_, backward_params_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Conv2d>> MakeConv2d(const Context& context, const Conv2dDesc& desc) {
  if (PrefersBatchConv2d(desc)) return MakeBatchConv2d(context, desc);
  auto conv = std::make_unique<OneDnnConv2d>(context, desc);
  GG_RETURN_IF_ERROR(conv->Prepare(context, desc));
  return conv;
}

}  // namespace gg::onednn
