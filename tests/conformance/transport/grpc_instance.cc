// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/transport/transport_suite.h"
#include "worker/transport/grpc/grpc_transport.h"

namespace gg {
namespace {

class GrpcWorld final : public TransportWorld {
 public:
  explicit GrpcWorld(bool unix_socket) : unix_socket_(unix_socket) {}

  std::unique_ptr<Transport> Make(const TransportOptions& options) override {
    GrpcTransportOptions grpc_options;
    grpc_options.base = options;
    grpc_options.same_host_unix_socket = unix_socket_;
    auto transport = MakeGrpcTransport(grpc_options);
    EXPECT_TRUE(transport.ok()) << transport.status();
    return transport.ok() ? *std::move(transport) : nullptr;
  }

 private:
  const bool unix_socket_;
};

TransportCase MakeCase(bool unix_socket) {
  return {.name = unix_socket ? "unix" : "tcp",
          .make_world = [=] { return std::make_unique<GrpcWorld>(unix_socket); },
          .path_bytes = 40 << 20,
          .describes = unix_socket ? "grpc over unix socket" : "grpc over tcp 127.0.0.1:"};
}

INSTANTIATE_TEST_SUITE_P(Grpc, TransportConformance,
                         ::testing::Values(MakeCase(false), MakeCase(true)),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace gg
