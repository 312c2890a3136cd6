// SPDX-License-Identifier: Apache-2.0
//
// An input is a byte, the size of the slices that a frame arrives in, and the frame. Where the
// reader and protobuf both take it they understand it alike, and what was read can be written and
// read again.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "gossipgrad/v1/peer.pb.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/transport/grpc/frame.h"

namespace gg {
namespace {

grpc::ByteBuffer Cut(const uint8_t* data, size_t size, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < size; i += piece) {
    slices.emplace_back(data + i, std::min(piece, size - i));
  }
  if (slices.empty()) slices.emplace_back();
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void Expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

int FuzzOne(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const uint8_t* text = data + 1;
  const size_t length = size - 1;
  grpc::ByteBuffer buffer = Cut(text, length, data[0] + 1);
  FrameReader reader(&buffer);
  if (!reader.ReadHeader().ok()) return 0;
  const FrameHeader& header = reader.header();
  Expect(header.chunk_bytes <= std::min<uint64_t>(length, kMaxChunkBytes));
  gossipgrad::v1::Frame frame;
  // protobuf's parser refuses overlong field numbers, which its input stream takes.
  if (!frame.ParseFromArray(text, static_cast<int>(length))) return 0;
  Expect(frame.channel() == static_cast<uint32_t>(header.channel) && frame.step() == header.step);
  Expect(frame.message_bytes() == header.message_bytes && frame.offset() == header.offset);
  Expect(frame.checksum() == header.checksum && frame.chunk().size() == header.chunk_bytes);
  Expect(frame.has_hello() == reader.hello().has_value());
  std::vector<uint8_t> chunk(header.chunk_bytes + 1, 0xA5);
  reader.ReadChunk(chunk.data()).IgnoreError();
  Expect(std::equal(chunk.begin(), chunk.end() - 1, frame.chunk().begin(),
                    [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }));
  Expect(chunk.back() == 0xA5);

  FrameHeader sound = header;
  sound.checksum = ChunkChecksum(chunk.data(), header.chunk_bytes);
  grpc::ByteBuffer again = EncodeChunk(sound, grpc::Slice(chunk.data(), header.chunk_bytes));
  FrameReader second(&again);
  Expect(second.ReadHeader().ok() && second.ReadChunk(nullptr).ok());
  Expect(second.header().step == header.step && second.header().block == header.block);
  return 0;
}

}  // namespace gg
