// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/transport/transport_suite.h"
#include "worker/transport/inproc/inproc_transport.h"

namespace gg {
namespace {

class InprocWorld final : public TransportWorld {
 public:
  std::unique_ptr<Transport> Make(const TransportOptions& options) override {
    return network_->MakeTransport(options);
  }

 private:
  std::unique_ptr<InprocNetwork> network_ = MakeInprocNetwork();
};

INSTANTIATE_TEST_SUITE_P(Inproc, TransportConformance,
                         ::testing::Values(TransportCase{
                             .name = "inproc",
                             .make_world = [] { return std::make_unique<InprocWorld>(); },
                             .path_bytes = 100'000,
                             .describes = "inproc"}),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace gg
