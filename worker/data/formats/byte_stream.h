// SPDX-License-Identifier: Apache-2.0
//
// The content of one file, front to back, gunzipped on the way when it begins with gzip's magic
// number (whatever the file is called: browsers unpack files and keep the name). Memory use does
// not depend on the file. Offsets in messages are those of the unpacked content, which is what a
// format's description speaks of. Errors: kDataLoss names the file, the offset, what was expected
// and found. A read error keeps its errno's code. Thread-safety: thread-compatible.
#ifndef GOSSIPGRAD_WORKER_DATA_FORMATS_BYTE_STREAM_H_
#define GOSSIPGRAD_WORKER_DATA_FORMATS_BYTE_STREAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gg {

// Where a ByteStream's stored bytes come from.
class StoredBytes {
 public:
  virtual ~StoredBytes() = default;
  virtual uint64_t size() const = 0;
  // Up to out.size() bytes that follow the last ones; 0 at the end.
  virtual absl::StatusOr<size_t> Read(absl::Span<uint8_t> out) = 0;
};

class ByteStream {
 public:
  // Opens a regular file. kNotFound, kPermissionDenied, kInvalidArgument (a folder, a device) or
  // kDataLoss (empty).
  static absl::StatusOr<std::unique_ptr<ByteStream>> OpenFile(const std::string& path);
  // For tests: `content` must outlive the stream, `name` stands for the path.
  static absl::StatusOr<std::unique_ptr<ByteStream>> OverMemory(std::string name,
                                                                absl::Span<const uint8_t> content);

  virtual ~ByteStream() = default;

  const std::string& name() const { return name_; }
  // Bytes of unpacked content read so far.
  uint64_t offset() const { return offset_; }
  // No more than this many bytes can follow: exact for a plain file, the format's largest ratio for
  // a packed one. Checked before memory is allocated for what a header claims.
  virtual uint64_t MostThatCanFollow() const = 0;

  // Exactly out.size() bytes. `what` names them in the message: "pixels".
  absl::Status Read(absl::Span<uint8_t> out, absl::string_view what);
  absl::Status Skip(uint64_t count, absl::string_view what);
  // Whether the content ends here; a packed file's checksum has then been verified.
  absl::StatusOr<bool> AtEnd();
  // kDataLoss unless the content ends here and its checksum (gzip) is right.
  absl::Status ExpectEnd();

  // kDataLoss: "<file>: byte <offset>: <what>: expected <expected>, found <found>; <remedy>".
  absl::Status Damage(uint64_t offset, absl::string_view what, absl::string_view expected,
                      absl::string_view found) const;

 protected:
  explicit ByteStream(std::string name) : name_(std::move(name)) {}
  // Like StoredBytes::Read, of the unpacked content.
  virtual absl::StatusOr<size_t> ReadSome(absl::Span<uint8_t> out) = 0;
  virtual bool packed() const = 0;

 private:
  absl::Status WithName(const absl::Status& status) const;
  static absl::StatusOr<std::unique_ptr<ByteStream>> Over(std::string name,
                                                          std::unique_ptr<StoredBytes> stored);

  const std::string name_;
  uint64_t offset_ = 0;
  std::optional<uint8_t> ahead_;  // the byte at offset_, when AtEnd() had to look
};

}  // namespace gg

#endif  // GOSSIPGRAD_WORKER_DATA_FORMATS_BYTE_STREAM_H_
