// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/onednn_device.h"

#include <omp.h>

#include "core/status.h"
#include "kernels/checks.h"
#include "kernels/onednn/layer_ops.h"
#include "kernels/reference/cpu_device.h"

namespace gg {
namespace {

// Below this many floats the work is done before a second thread has woken up.
constexpr size_t kParallelFrom = 65536;

class OneDnnDevice : public CpuDevice {
 public:
  explicit OneDnnDevice(onednn::Context context) : context_(std::move(context)) {}

  absl::string_view name() const override { return "onednn"; }

  absl::StatusOr<std::unique_ptr<Conv2d>> MakeConv2d(const Conv2dDesc& desc) override {
    return Prepared<Conv2d>("Conv2d", desc, onednn::MakeConv2d);
  }
  absl::StatusOr<std::unique_ptr<Linear>> MakeLinear(const LinearDesc& desc) override {
    return Prepared<Linear>("Linear", desc, onednn::MakeLinear);
  }
  absl::StatusOr<std::unique_ptr<Pool2d>> MakePool2d(const Pool2dDesc& desc) override {
    return Prepared<Pool2d>("Pool2d", desc, onednn::MakePool2d);
  }

 protected:
  void ForItems(size_t n, size_t floats_each, RangeFn fn) override {
    if (context_.threads == 1 || n * floats_each < kParallelFrom) {
      fn(0, n);
      return;
    }
    const size_t threads = static_cast<size_t>(context_.threads);
#pragma omp parallel for num_threads(context_.threads) schedule(static)
    for (size_t t = 0; t < threads; ++t) fn(n * t / threads, n * (t + 1) / threads);
  }

 private:
  template <typename Op, typename Desc>
  absl::StatusOr<std::unique_ptr<Op>> Prepared(
      absl::string_view what, const Desc& desc,
      absl::StatusOr<std::unique_ptr<Op>> (*make)(const onednn::Context&, const Desc&)) {
    GG_RETURN_IF_ERROR(CheckDesc(desc));
    context_.UseThreads();  // a primitive is planned for the number of threads at hand
    try {
      return make(context_, desc);
    } catch (const dnnl::error& error) {
      return onednn::FromException(what, error);
    }
  }

  const onednn::Context context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> MakeOneDnnDevice(const DeviceOptions& options) {
  try {
    return std::make_unique<OneDnnDevice>(
        onednn::Context{dnnl::engine(dnnl::engine::kind::cpu, 0), options.threads});
  } catch (const dnnl::error& error) {
    return onednn::FromException("device onednn", error);
  }
}

}  // namespace gg
