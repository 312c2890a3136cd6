// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/watch_stream.h"

#include <memory>
#include <utility>

#include "coordinator/service/wire.h"
#include "coordinator/service/write_queue.h"

namespace gg {
namespace {

namespace v1 = gossipgrad::v1;

// Lives until gRPC is done with it and the loop has let go of it.
class WatchStream final : public grpc::ServerWriteReactor<v1::WatchJobResponse>, public WatchPort {
 public:
  static WatchStream* Open(CoordinatorLoop* loop, const std::string& name) {
    auto stream = std::make_shared<WatchStream>();
    stream->self_ = stream;
    WatchStream* raw = stream.get();
    if (!loop->Watch(name, std::move(stream))) {
      raw->End(absl::UnavailableError("the coordinator is not serving, or overloaded"));
    }
    return raw;
  }

  WatchStream()
      : out_({[this](const v1::WatchJobResponse* message) { StartWrite(message); },
              [this](const grpc::Status& status) { Finish(status); }},
             WriteQueue<v1::WatchJobResponse>::Keep::kLatest, 1) {}

  void Show(v1::WatchJobResponse response) override { out_.Push(std::move(response)); }
  void End(const absl::Status& status) override { out_.Close(ToGrpc(status)); }
  bool gone() override { return out_.closing(); }

  void OnWriteDone(bool ok) override { out_.WriteDone(ok); }
  void OnCancel() override { out_.Close(grpc::Status::CANCELLED); }
  void OnDone() override { const std::shared_ptr<WatchStream> keep = std::move(self_); }

 private:
  WriteQueue<v1::WatchJobResponse> out_;
  std::shared_ptr<WatchStream> self_;
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchJobResponse>* OpenWatch(CoordinatorLoop* loop,
                                                          const std::string& name) {
  return WatchStream::Open(loop, name);
}

}  // namespace gg
