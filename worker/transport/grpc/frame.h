// SPDX-License-Identifier: Apache-2.0
//
// proto Frame as raw bytes (proto/gossipgrad/v1/peer.proto): written so that a chunk is a slice of
// the sender's memory, read so that it is copied once, to where it belongs, and hashed on the way.
//
// Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_TRANSPORT_GRPC_FRAME_H_
#define GOSSIPGRAD_WORKER_TRANSPORT_GRPC_FRAME_H_

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gossipgrad/v1/peer.pb.h"

namespace gg {

// Grows when an end could misunderstand the other; ends of different versions refuse each other.
inline constexpr uint32_t kPeerProtocolVersion = 1;
inline constexpr uint64_t kMaxChunkBytes = 1 << 20;
// The largest Frame: a chunk and its header, or a Hello.
inline constexpr int kMaxFrameBytes = static_cast<int>(kMaxChunkBytes) + (16 << 10);
inline constexpr char kExchangeMethod[] = "/gossipgrad.v1.PeerService/Exchange";

struct FrameHeader {
  uint64_t channel = 0;  // 0: no message in this frame
  uint64_t step = 0;
  uint64_t block = 0;
  uint64_t message_bytes = 0;
  uint64_t offset = 0;
  uint64_t checksum = 0;
  uint64_t chunk_bytes = 0;
};

uint64_t ChunkChecksum(const uint8_t* data, size_t bytes);

grpc::ByteBuffer EncodeHello(const gossipgrad::v1::Hello& hello);
// `chunk` holds header.chunk_bytes bytes and is not copied.
grpc::ByteBuffer EncodeChunk(const FrameHeader& header, const grpc::Slice& chunk);

// Reads one frame. The buffer stays alive and untouched until the reader is gone.
class FrameReader {
 public:
  explicit FrameReader(grpc::ByteBuffer* buffer);

  // Everything up to the chunk. kInvalidArgument: not a Frame, the chunk not last or too large.
  absl::Status ReadHeader();
  const FrameHeader& header() const { return header_; }
  const std::optional<gossipgrad::v1::Hello>& hello() const { return hello_; }
  // Copies the chunk to `into` (null: nowhere) and checks it: kDataLoss when the checksum differs.
  absl::Status ReadChunk(uint8_t* into);

 private:
  absl::Status ReadFields();

  grpc::ProtoBufferReader source_;
  google::protobuf::io::CodedInputStream in_;
  const int total_bytes_;
  FrameHeader header_;
  std::optional<gossipgrad::v1::Hello> hello_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_TRANSPORT_GRPC_FRAME_H_
