// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/host_buffer.h"
#include "kernels/onednn/layer_ops.h"
#include "kernels/reference/vector_ops.h"

namespace gg::onednn {
namespace {

// A row-major matrix, and the same memory read as its transpose.
Desc Matrix(int64_t rows, int64_t cols) {
  return Desc({rows, cols}, dnnl::memory::data_type::f32, Dims{cols, 1});
}
Desc Transposed(int64_t rows, int64_t cols) {
  return Desc({cols, rows}, dnnl::memory::data_type::f32, Dims{1, cols});
}

// The matrix product instead of oneDNN's inner product: faster for training shapes, and it takes
// the canonical layout.
class OneDnnLinear : public Linear {
 public:
  OneDnnLinear(const Context& context, const LinearDesc& desc)
      : d_(desc),
        sizes_(desc),
        forward_(context),
        backward_data_(context),
        backward_weights_(context) {}

  absl::Status Prepare(const Context& context) {
    const Desc x = Matrix(d_.batch, d_.in_features);
    const Desc w = Matrix(d_.out_features, d_.in_features);
    const Desc w_transposed = Transposed(d_.out_features, d_.in_features);
    const Desc b = Matrix(1, d_.out_features);
    const Desc y = Matrix(d_.batch, d_.out_features);
    const Desc y_transposed = Transposed(d_.batch, d_.out_features);
    const auto forward = MatMulBias(context.engine, x, w_transposed, b, y);
    const auto data = MatMul(context.engine, y, w, x);
    const auto weights = MatMul(context.engine, y_transposed, x, w);
    GG_RETURN_IF_ERROR(RefuseReference("Linear forward", forward.impl_info_str()));
    GG_RETURN_IF_ERROR(RefuseReference("Linear backward data", data.impl_info_str()));
    GG_RETURN_IF_ERROR(RefuseReference("Linear backward weights", weights.impl_info_str()));

    forward_.AddInput(DNNL_ARG_SRC, x, x);
    forward_.AddInput(DNNL_ARG_WEIGHTS, w_transposed, w_transposed);
    forward_.AddInput(DNNL_ARG_BIAS, b, b);
    forward_.AddOutput(DNNL_ARG_DST, y, y);
    forward_.SetPrimitive(dnnl::matmul(forward), forward.scratchpad_desc());

    backward_data_.AddInput(DNNL_ARG_SRC, y, y);
    backward_data_.AddInput(DNNL_ARG_WEIGHTS, w, w);
    backward_data_.AddOutput(DNNL_ARG_DST, x, x);
    backward_data_.SetPrimitive(dnnl::matmul(data), data.scratchpad_desc());

    backward_weights_.AddInput(DNNL_ARG_SRC, y_transposed, y_transposed);
    backward_weights_.AddInput(DNNL_ARG_WEIGHTS, x, x);
    backward_weights_.AddOutput(DNNL_ARG_DST, w, w);
    backward_weights_.SetPrimitive(dnnl::matmul(weights), weights.scratchpad_desc());

    GG_ASSIGN_OR_RETURN(workspace_, AllocateHost(std::max({forward_.workspace_bytes(),
                                                           backward_data_.workspace_bytes(),
                                                           backward_weights_.workspace_bytes()})));
    for (Pass* pass : {&forward_, &backward_data_, &backward_weights_})
      pass->BindWorkspace(workspace_->data());
    return absl::OkStatus();
  }

  absl::Status Forward(Stream&, ConstFlat x, ConstFlat w, ConstFlat b, Flat y) override {
    GG_RETURN_IF_ERROR(CheckForward("Linear", sizes_, x, w, b, y));
    return forward_.Run({x.data(), w.data(), b.data(), y.data()});
  }
  absl::Status BackwardData(Stream&, ConstFlat dy, ConstFlat w, Flat dx) override {
    GG_RETURN_IF_ERROR(CheckBackwardData("Linear", sizes_, dy, w, dx));
    return backward_data_.Run({dy.data(), w.data(), dx.data()});
  }
  absl::Status BackwardParams(Stream&, ConstFlat x, ConstFlat dy, Flat dw, Flat db) override {
    GG_RETURN_IF_ERROR(CheckBackwardParams("Linear", sizes_, x, dy, dw, db));
    vector_ops::ColumnSums(d_.batch, d_.out_features, dy.data(), db.data());
    return backward_weights_.Run({dy.data(), x.data(), dw.data()});
  }

 private:
  const LinearDesc d_;
  const LinearSizes sizes_;
  std::unique_ptr<Buffer> workspace_;  // shared by the passes: they run one at a time
  Pass forward_, backward_data_, backward_weights_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Linear>> MakeLinear(const Context& context, const LinearDesc& desc) {
  auto linear = std::make_unique<OneDnnLinear>(context, desc);
  GG_RETURN_IF_ERROR(linear->Prepare(context));
  return linear;
}

}  // namespace gg::onednn
