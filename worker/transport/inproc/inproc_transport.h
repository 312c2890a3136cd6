// SPDX-License-Identifier: Apache-2.0
//
// Links inside one process: for tests and for several workers in one address space. One
// InprocNetwork is the "wire"; its addresses are "inproc://<n>". Delivery runs on the network's own
// thread.
//
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_INPROC_INPROC_TRANSPORT_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_INPROC_INPROC_TRANSPORT_H_

#include <memory>

#include "worker/transport/transport.h"

namespace gg {

class InprocNetwork {
 public:
  virtual ~InprocNetwork() = default;
  // The network must outlive its transports.
  virtual std::unique_ptr<Transport> MakeTransport(const TransportOptions& options) = 0;
};

std::unique_ptr<InprocNetwork> MakeInprocNetwork();

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_INPROC_INPROC_TRANSPORT_H_
