// SPDX-License-Identifier: Apache-2.0
//
// One WatchJob call. A slow reader misses what came between, never the last message.
// Thread-safety: thread-safe.
#ifndef GOSSIPGRAD_COORDINATOR_SERVICE_WATCH_STREAM_H_
#define GOSSIPGRAD_COORDINATOR_SERVICE_WATCH_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "coordinator/service/loop.h"

namespace gg {

grpc::ServerWriteReactor<gossipgrad::v1::WatchJobResponse>* OpenWatch(CoordinatorLoop* loop,
                                                                      const std::string& name);

}  // namespace gg

#endif  // GOSSIPGRAD_COORDINATOR_SERVICE_WATCH_STREAM_H_
