// SPDX-License-Identifier: Apache-2.0
#include "worker/transport/grpc/frame.h"

#include <google/protobuf/wire_format_lite.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // the same functions with the widest vectors that this CPU has
#endif

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t Key(int field, WireFormatLite::WireType type) {
  return static_cast<uint32_t>(field) << 3 | type;
}
constexpr uint32_t kHello = Key(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kChannel = Key(2, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kStep = Key(3, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kBlock = Key(4, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kMessageBytes = Key(5, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kOffset = Key(6, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kChecksum = Key(7, WireFormatLite::WIRETYPE_FIXED64);
constexpr uint32_t kChunk = Key(15, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kMaxHelloBytes = 4096;
// What is copied is hashed next, and shall still be in the first-level cache then.
constexpr uint64_t kPiece = 16 << 10;

uint8_t* PutVarint(uint32_t key, uint64_t value, uint8_t* out) {
  if (value == 0) return out;  // proto3: the default is not written
  out = CodedOutputStream::WriteTagToArray(key, out);
  return CodedOutputStream::WriteVarint64ToArray(value, out);
}

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed frame: ", what));
}

}  // namespace

uint64_t ChunkChecksum(const uint8_t* data, size_t bytes) {
  return XXH3_64bits(data, bytes);
}

grpc::ByteBuffer EncodeHello(const gossipgrad::v1::Hello& hello) {
  gossipgrad::v1::Frame frame;
  *frame.mutable_hello() = hello;
  const grpc::Slice slice(frame.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer EncodeChunk(const FrameHeader& header, const grpc::Slice& chunk) {
  uint8_t bytes[96];  // seven fields of at most 11 bytes
  uint8_t* end = PutVarint(kChannel, header.channel, bytes);
  end = PutVarint(kStep, header.step, end);
  end = PutVarint(kBlock, header.block, end);
  end = PutVarint(kMessageBytes, header.message_bytes, end);
  end = PutVarint(kOffset, header.offset, end);
  end = CodedOutputStream::WriteTagToArray(kChecksum, end);
  end = CodedOutputStream::WriteLittleEndian64ToArray(header.checksum, end);
  if (header.chunk_bytes > 0) {
    end = CodedOutputStream::WriteTagToArray(kChunk, end);
    end = CodedOutputStream::WriteVarint64ToArray(header.chunk_bytes, end);
  }
  const grpc::Slice slices[] = {grpc::Slice(bytes, end - bytes), chunk};
  return grpc::ByteBuffer(slices, header.chunk_bytes > 0 ? 2 : 1);
}

FrameReader::FrameReader(grpc::ByteBuffer* buffer)
    : source_(buffer), in_(&source_), total_bytes_(static_cast<int>(buffer->Length())) {}

absl::Status FrameReader::ReadHeader() {
  if (!source_.status().ok()) return Malformed("unreadable");
  GG_RETURN_IF_ERROR(ReadFields());
  const uint64_t rest = total_bytes_ - in_.CurrentPosition();
  if (header_.chunk_bytes != rest) return Malformed("the chunk is not the last field");
  if (header_.chunk_bytes > kMaxChunkBytes) {
    return Malformed(absl::StrCat("a chunk of ", header_.chunk_bytes, " bytes, at most ",
                                  kMaxChunkBytes, " are allowed"));
  }
  return absl::OkStatus();
}

absl::Status FrameReader::ReadFields() {
  for (;;) {
    const uint32_t key = in_.ReadTag();
    bool ok = true;
    switch (key) {
      case 0:
        return in_.ConsumedEntireMessage() ? absl::OkStatus() : Malformed("a field's number");
      case kHello: {
        uint32_t bytes = 0;
        std::string text;
        ok = in_.ReadVarint32(&bytes) && bytes <= kMaxHelloBytes && in_.ReadString(&text, bytes) &&
             hello_.emplace().ParseFromString(text);
        break;
      }
      case kChannel:
        ok = in_.ReadVarint64(&header_.channel);
        break;
      case kStep:
        ok = in_.ReadVarint64(&header_.step);
        break;
      case kBlock:
        ok = in_.ReadVarint64(&header_.block);
        break;
      case kMessageBytes:
        ok = in_.ReadVarint64(&header_.message_bytes);
        break;
      case kOffset:
        ok = in_.ReadVarint64(&header_.offset);
        break;
      case kChecksum:
        ok = in_.ReadLittleEndian64(&header_.checksum);
        break;
      case kChunk:
        if (!in_.ReadVarint64(&header_.chunk_bytes)) return Malformed("the chunk's length");
        return absl::OkStatus();
      default:
        ok = WireFormatLite::SkipField(&in_, key);  // a newer sender's field
    }
    if (!ok) return Malformed(absl::StrCat("field ", key >> 3));
  }
}

absl::Status FrameReader::ReadChunk(uint8_t* into) {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, Free> hash(XXH3_createState());
  XXH3_64bits_reset(hash.get());
  uint64_t left = header_.chunk_bytes;
  while (left > 0) {
    const void* piece = nullptr;
    int size = 0;
    if (!in_.GetDirectBufferPointer(&piece, &size)) return Malformed("cut off");
    size = static_cast<int>(std::min<uint64_t>({static_cast<uint64_t>(size), left, kPiece}));
    if (into != nullptr) {
      std::memcpy(into, piece, size);
      into += size;
    }
    XXH3_64bits_update(hash.get(), piece, size);
    in_.Skip(size);
    left -= size;
  }
  if (XXH3_64bits_digest(hash.get()) != header_.checksum) {
    return absl::DataLossError(absl::StrCat("checksum differs in the chunk at offset ",
                                            header_.offset, " of ", header_.message_bytes,
                                            " bytes: damaged between sender and receiver"));
  }
  return absl::OkStatus();
}

}  // namespace gg
