// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gg {
namespace {

using gossipgrad::v1::Frame;

std::string Flatten(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

// Cut into slices of `piece` bytes, as a network might.
grpc::ByteBuffer Cut(const std::string& text, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < text.size(); i += piece) slices.emplace_back(text.substr(i, piece));
  if (slices.empty()) slices.emplace_back();
  return grpc::ByteBuffer(slices.data(), slices.size());
}

FrameHeader Header(const std::string& chunk) {
  FrameHeader header;
  header.channel = 2;
  header.step = 1ull << 40;
  header.block = 0xFFFFFFFF;
  header.message_bytes = 5'000'000;
  header.offset = 1'000'000;
  header.chunk_bytes = chunk.size();
  header.checksum = ChunkChecksum(reinterpret_cast<const uint8_t*>(chunk.data()), chunk.size());
  return header;
}

TEST(FrameTest, WhatIsWrittenIsAFrameToProtobuf) {
  const std::string chunk(1000, 'x');
  Frame frame;
  ASSERT_TRUE(frame.ParseFromString(Flatten(EncodeChunk(Header(chunk), grpc::Slice(chunk)))));
  EXPECT_EQ(frame.channel(), 2u);
  EXPECT_EQ(frame.step(), 1ull << 40);
  EXPECT_EQ(frame.block(), 0xFFFFFFFFu);
  EXPECT_EQ(frame.message_bytes(), 5'000'000u);
  EXPECT_EQ(frame.offset(), 1'000'000u);
  EXPECT_EQ(frame.checksum(), Header(chunk).checksum);
  EXPECT_EQ(frame.chunk(), chunk);
  EXPECT_FALSE(frame.has_hello());
}

// No copy between the memory that was lent and the connection.
TEST(FrameTest, AChunkIsSentFromTheMemoryItLiesIn) {
  std::vector<uint8_t> lent(100000, 7);
  FrameHeader header;
  header.channel = 1;
  header.message_bytes = header.chunk_bytes = lent.size();
  const grpc::Slice chunk(lent.data(), lent.size(), grpc::Slice::STATIC_SLICE);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(EncodeChunk(header, chunk).Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[1].begin(), lent.data());
  EXPECT_EQ(slices[1].size(), lent.size());
}

TEST(FrameTest, WhatProtobufWritesIsReadHoweverItIsCut) {
  std::string chunk;
  for (int i = 0; i < 5000; ++i) chunk.push_back(static_cast<char>(i * 31));
  const FrameHeader header = Header(chunk);
  Frame frame;
  frame.mutable_hello()->set_job_id("job");
  frame.set_channel(2);
  frame.set_step(header.step);
  frame.set_block(0xFFFFFFFF);
  frame.set_message_bytes(header.message_bytes);
  frame.set_offset(header.offset);
  frame.set_checksum(header.checksum);
  frame.set_chunk(chunk);
  for (size_t piece : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 20}) {
    grpc::ByteBuffer buffer = Cut(frame.SerializeAsString(), piece);
    FrameReader reader(&buffer);
    ASSERT_EQ(reader.ReadHeader(), absl::OkStatus()) << piece;
    EXPECT_EQ(reader.hello()->job_id(), "job");
    EXPECT_EQ(reader.header().step, header.step);
    EXPECT_EQ(reader.header().block, 0xFFFFFFFFu);
    EXPECT_EQ(reader.header().offset, header.offset);
    ASSERT_EQ(reader.header().chunk_bytes, chunk.size());
    std::string got(chunk.size(), '\0');
    EXPECT_EQ(reader.ReadChunk(reinterpret_cast<uint8_t*>(got.data())), absl::OkStatus());
    EXPECT_TRUE(got == chunk) << piece;
  }
}

TEST(FrameTest, AChunkThatIsThrownAwayIsCheckedToo) {
  const std::string chunk(100, 'x');
  FrameHeader header = Header(chunk);
  grpc::ByteBuffer good = EncodeChunk(header, grpc::Slice(chunk));
  EXPECT_EQ(
      [&] {
        FrameReader r(&good);
        return r.ReadHeader().ok() && r.ReadChunk(nullptr).ok();
      }(),
      true);
  ++header.checksum;
  grpc::ByteBuffer bad = EncodeChunk(header, grpc::Slice(chunk));
  FrameReader reader(&bad);
  ASSERT_EQ(reader.ReadHeader(), absl::OkStatus());
  EXPECT_EQ(reader.ReadChunk(nullptr).code(), absl::StatusCode::kDataLoss);
}

TEST(FrameTest, EmptyMessagesAndHellosCarryNoChunk) {
  grpc::ByteBuffer empty = EncodeChunk(Header(""), grpc::Slice());
  FrameReader reader(&empty);
  ASSERT_EQ(reader.ReadHeader(), absl::OkStatus());
  EXPECT_EQ(reader.header().chunk_bytes, 0u);
  EXPECT_EQ(reader.ReadChunk(nullptr), absl::OkStatus());
  gossipgrad::v1::Hello hello;
  hello.set_view(7);
  grpc::ByteBuffer greeting = EncodeHello(hello);
  FrameReader second(&greeting);
  ASSERT_EQ(second.ReadHeader(), absl::OkStatus());
  EXPECT_EQ(second.hello()->view(), 7u);
  EXPECT_EQ(second.header().channel, 0u);
}

TEST(FrameTest, UnknownFieldsAreSkipped) {
  Frame frame;
  frame.set_channel(1);
  std::string text = frame.SerializeAsString();
  text += std::string(
      "\x4a\x03"
      "abc"
      "\x50\x07",
      7);  // fields 9 and 10 of a newer sender
  grpc::ByteBuffer buffer = Cut(text, 2);
  FrameReader reader(&buffer);
  ASSERT_EQ(reader.ReadHeader(), absl::OkStatus());
  EXPECT_EQ(reader.header().channel, 1u);
}

TEST(FrameTest, MalformedFramesAreRefused) {
  Frame frame;
  frame.set_step(5);
  frame.set_chunk("0123456789");
  const std::string good = frame.SerializeAsString();
  const std::string bad[] = {
      good.substr(0, good.size() - 1),                              // the chunk is cut off
      good + std::string("\x10\x01", 2),                            // something after the chunk
      std::string("\x7a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10),  // a chunk of nearly 2^63 bytes
      std::string("\x7a\x80", 2),                                   // a length that does not end
      std::string("\x10\x01\x80", 3),      // a field number that does not end
      std::string("\x00\x01", 2),          // field number 0
      std::string("\x0a\xff\xff\x7f", 4),  // a Hello of 2 MB
      std::string("\x0a\x02\xff\xff", 4),  // a Hello that is none
      std::string("\x39\x01\x02", 3),      // half a checksum
      std::string("\x4b\x4b\x4b\x4b", 4),  // groups that never end
      std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11)};
  for (const std::string& text : bad) {
    grpc::ByteBuffer buffer = Cut(text, 3);
    FrameReader reader(&buffer);
    EXPECT_EQ(reader.ReadHeader().code(), absl::StatusCode::kInvalidArgument)
        << ::testing::PrintToString(text);
  }
  frame.set_chunk(std::string(kMaxChunkBytes + 1, 'x'));
  grpc::ByteBuffer large = Cut(frame.SerializeAsString(), 1 << 16);
  FrameReader reader(&large);
  EXPECT_EQ(reader.ReadHeader().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gg
