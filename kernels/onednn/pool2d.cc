// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/host_buffer.h"
#include "kernels/onednn/layer_ops.h"

namespace gg::onednn {
namespace {

// What the last window reaches over the right or lower edge; zero where rounding down leaves a
// rest.
int64_t EndPad(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad) {
  return std::max<int64_t>(0, (out - 1) * stride + kernel - in - pad);
}

PoolShape Shape(const Pool2dDesc& d) {
  using Tag = dnnl::memory::format_tag;
  constexpr auto kFloat = dnnl::memory::data_type::f32;
  return {.algorithm = d.kind == PoolKind::kMax ? dnnl::algorithm::pooling_max
                                                : dnnl::algorithm::pooling_avg_exclude_padding,
          .x = Desc({d.batch, d.channels, d.in_height, d.in_width}, kFloat, Tag::nchw),
          .y = Desc({d.batch, d.channels, d.out_height(), d.out_width()}, kFloat, Tag::nchw),
          .strides = {d.stride_height, d.stride_width},
          .kernel = {d.kernel_height, d.kernel_width},
          .pad_begin = {d.pad_height, d.pad_width},
          .pad_end = {
              EndPad(d.in_height, d.out_height(), d.kernel_height, d.stride_height, d.pad_height),
              EndPad(d.in_width, d.out_width(), d.kernel_width, d.stride_width, d.pad_width)}};
}

class OneDnnPool2d : public Pool2d {
 public:
  OneDnnPool2d(const Context& context, const Pool2dDesc& desc)
      : sizes_(desc), forward_(context), backward_(context) {}

  absl::Status Prepare(const Context& context, const Pool2dDesc& desc) {
    const PoolShape shape = Shape(desc);
    const auto forward = PoolForward(context.engine, shape);
    const auto backward = PoolBackward(context.engine, shape, forward);
    GG_RETURN_IF_ERROR(RefuseReference("Pool2d forward", forward.impl_info_str()));
    GG_RETURN_IF_ERROR(RefuseReference("Pool2d backward", backward.impl_info_str()));

    forward_.AddInput(DNNL_ARG_SRC, shape.x, shape.x);
    forward_.AddOutput(DNNL_ARG_DST, shape.y, shape.y);
    backward_.AddInput(DNNL_ARG_DIFF_DST, shape.y, shape.y);
    backward_.AddOutput(DNNL_ARG_DIFF_SRC, shape.x, shape.x);
    if (desc.kind == PoolKind::kMax) {
      GG_ASSIGN_OR_RETURN(winners_, AllocateHost(forward.workspace_desc().get_size()));
      forward_.AddFixed(DNNL_ARG_WORKSPACE, forward.workspace_desc(), winners_->data());
      backward_.AddFixed(DNNL_ARG_WORKSPACE, forward.workspace_desc(), winners_->data());
    }
    forward_.SetPrimitive(PoolForwardPrimitive(forward), forward.scratchpad_desc());
    backward_.SetPrimitive(PoolBackwardPrimitive(backward), backward.scratchpad_desc());
    GG_ASSIGN_OR_RETURN(workspace_, AllocateHost(std::max(forward_.workspace_bytes(),
                                                          backward_.workspace_bytes())));
    forward_.BindWorkspace(workspace_->data());
    backward_.BindWorkspace(workspace_->data());
    return absl::OkStatus();
  }

  absl::Status Forward(Stream&, ConstFlat x, Flat y) override {
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Forward: x", x.size(), sizes_.x));
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Forward: y", y.size(), sizes_.y));
    return forward_.Run({x.data(), y.data()});
  }
  absl::Status Backward(Stream&, ConstFlat dy, Flat dx) override {
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Backward: dy", dy.size(), sizes_.y));
    GG_RETURN_IF_ERROR(CheckSize("Pool2d.Backward: dx", dx.size(), sizes_.x));
    return backward_.Run({dy.data(), dx.data()});
  }

 private:
  const Pool2dSizes sizes_;
  std::unique_ptr<Buffer> workspace_, winners_;
  Pass forward_, backward_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Pool2d>> MakePool2d(const Context& context, const Pool2dDesc& desc) {
  auto pool = std::make_unique<OneDnnPool2d>(context, desc);
  GG_RETURN_IF_ERROR(pool->Prepare(context, desc));
  return pool;
}

}  // namespace gg::onednn
