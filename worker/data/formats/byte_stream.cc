// SPDX-License-Identifier: Apache-2.0
#include "worker/data/formats/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace gg {
namespace {

constexpr size_t kChunk = 256 << 10;
// Deflate's best: a 258-byte match in 2 bits, rounded up.
constexpr uint64_t kMostInflation = 1032;
constexpr absl::string_view kRemedy = "replace the file by an intact copy";

class FileBytes final : public StoredBytes {
 public:
  FileBytes(int fd, uint64_t size) : fd_(fd), size_(size) {}
  ~FileBytes() override { close(fd_); }
  uint64_t size() const override { return size_; }
  absl::StatusOr<size_t> Read(absl::Span<uint8_t> out) override {
    for (;;) {
      const ssize_t n = read(fd_, out.data(), out.size());
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) return absl::ErrnoToStatus(errno, "cannot read");
    }
  }

 private:
  const int fd_;
  const uint64_t size_;
};

class MemoryBytes final : public StoredBytes {
 public:
  explicit MemoryBytes(absl::Span<const uint8_t> content) : size_(content.size()), left_(content) {}
  uint64_t size() const override { return size_; }
  absl::StatusOr<size_t> Read(absl::Span<uint8_t> out) override {
    const size_t n = std::min(out.size(), left_.size());
    std::copy_n(left_.begin(), n, out.begin());
    left_.remove_prefix(n);
    return n;
  }

 private:
  const uint64_t size_;
  absl::Span<const uint8_t> left_;
};

// The first bytes of a file have been read to tell what it is; they are given out again.
using Magic = std::vector<uint8_t>;

class PlainStream final : public ByteStream {
 public:
  PlainStream(std::string name, std::unique_ptr<StoredBytes> stored, Magic begun)
      : ByteStream(std::move(name)), stored_(std::move(stored)), begun_(std::move(begun)) {}

  uint64_t MostThatCanFollow() const override {
    return stored_->size() - std::min(stored_->size(), offset());
  }

 private:
  absl::StatusOr<size_t> ReadSome(absl::Span<uint8_t> out) override {
    if (begun_given_ == begun_.size()) return stored_->Read(out);
    const size_t n = std::min(out.size(), begun_.size() - begun_given_);
    std::copy_n(begun_.begin() + static_cast<ptrdiff_t>(begun_given_), n, out.begin());
    begun_given_ += n;
    return n;
  }
  bool packed() const override { return false; }

  const std::unique_ptr<StoredBytes> stored_;
  const Magic begun_;
  size_t begun_given_ = 0;
};

// One or several gzip members, one after another, as gzip(1) reads them.
class GzipStream final : public ByteStream {
 public:
  GzipStream(std::string name, std::unique_ptr<StoredBytes> stored, const Magic& begun)
      : ByteStream(std::move(name)),
        stored_(std::move(stored)),
        in_(std::clamp<uint64_t>(stored_->size(), begun.size(), kChunk)),
        read_(begun.size()) {
    std::copy(begun.begin(), begun.end(), in_.begin());
    z_.next_in = in_.data();
    z_.avail_in = static_cast<uInt>(begun.size());
    // 16: a gzip header is required, and its checksum and length are verified at the end.
    ready_ = inflateInit2(&z_, MAX_WBITS + 16) == Z_OK;
  }
  ~GzipStream() override {
    if (ready_) inflateEnd(&z_);
  }

  uint64_t MostThatCanFollow() const override {
    const uint64_t unread = stored_->size() - std::min(stored_->size(), read_);
    // What zlib holds back of its input so far is bounded by its window.
    return (unread + z_.avail_in + 64) * kMostInflation + (1 << MAX_WBITS);
  }

 private:
  absl::StatusOr<size_t> ReadSome(absl::Span<uint8_t> out) override {
    if (!ready_) return absl::ResourceExhaustedError("no memory for zlib");
    z_.next_out = out.data();
    z_.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), 1 << 30));
    const uInt room = z_.avail_out;
    while (z_.avail_out == room) {
      GG_RETURN_IF_ERROR(Refill());
      const bool at_end = z_.avail_in == 0;
      if (between_members_) {
        if (at_end) return 0;
        inflateReset(&z_);
        between_members_ = false;
        after_first_member_ = true;
      }
      const int result = inflate(&z_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        between_members_ = true;
      } else if (result == Z_BUF_ERROR && at_end) {
        return Damage(offset(), absl::StrCat("gzip data end early, after ", read_, " stored bytes"),
                      "more data and a checksum", "the end of the file");
      } else if (result == Z_MEM_ERROR) {
        return absl::ResourceExhaustedError("no memory for zlib");
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        const uint64_t stored_at = read_ - z_.avail_in;
        return Damage(offset(), absl::StrCat("gzip data near stored byte ", stored_at),
                      after_first_member_ ? "the end of the file or sound data" : "sound data",
                      absl::StrCat("an error (zlib: ", z_.msg != nullptr ? z_.msg : "?", ")"));
      }
    }
    return room - z_.avail_out;
  }
  bool packed() const override { return true; }

  absl::Status Refill() {
    if (z_.avail_in > 0) return absl::OkStatus();
    GG_ASSIGN_OR_RETURN(const size_t n, stored_->Read(absl::MakeSpan(in_)));
    z_.next_in = in_.data();
    z_.avail_in = static_cast<uInt>(n);
    read_ += n;
    return absl::OkStatus();
  }

  const std::unique_ptr<StoredBytes> stored_;
  std::vector<uint8_t> in_;
  uint64_t read_;  // stored bytes taken from stored_
  z_stream z_{};
  bool ready_ = false;
  bool between_members_ = false;
  bool after_first_member_ = false;
};

}  // namespace

absl::Status ByteStream::Damage(uint64_t offset, absl::string_view what, absl::string_view expected,
                                absl::string_view found) const {
  return absl::DataLossError(
      absl::StrCat(name_, ": byte ", offset, packed() ? " of the unpacked content: " : ": ", what,
                   ": expected ", expected, ", found ", found, "; ", kRemedy));
}

absl::Status ByteStream::Read(absl::Span<uint8_t> out, absl::string_view what) {
  const uint64_t begin = offset_;
  const size_t all = out.size();
  if (ahead_.has_value() && !out.empty()) {
    out.front() = *ahead_;
    ahead_.reset();
    ++offset_;
    out.remove_prefix(1);
  }
  while (!out.empty()) {
    absl::StatusOr<size_t> n = ReadSome(out);
    if (!n.ok()) return WithName(n.status());
    if (*n == 0) {
      return Damage(offset_, absl::StrCat("the file ends inside its ", what),
                    absl::StrCat(all, " bytes of ", what, " from byte ", begin, " on"),
                    absl::StrCat("only ", offset_ - begin));
    }
    offset_ += *n;
    out.remove_prefix(*n);
  }
  return absl::OkStatus();
}

absl::Status ByteStream::Skip(uint64_t count, absl::string_view what) {
  std::vector<uint8_t> scratch(std::min<uint64_t>(count, kChunk));
  while (count > 0) {
    const uint64_t n = std::min<uint64_t>(count, scratch.size());
    GG_RETURN_IF_ERROR(Read(absl::MakeSpan(scratch).first(n), what));
    count -= n;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ByteStream::AtEnd() {
  if (ahead_.has_value()) return false;
  uint8_t next = 0;
  absl::StatusOr<size_t> n = ReadSome(absl::MakeSpan(&next, 1));
  if (!n.ok()) return WithName(n.status());
  if (*n == 0) return true;
  ahead_ = next;
  return false;
}

absl::Status ByteStream::ExpectEnd() {
  GG_ASSIGN_OR_RETURN(const bool at_end, AtEnd());
  if (at_end) return absl::OkStatus();
  return Damage(
      offset_, "bytes after the last sample", "the end of the file",
      packed() ? std::string("more content") : absl::StrCat(MostThatCanFollow(), " more bytes"));
}

absl::Status ByteStream::WithName(const absl::Status& status) const {
  // Damage() has named the file; a failed read has not.
  return status.code() == absl::StatusCode::kDataLoss ? status : Annotate(status, name_);
}

absl::StatusOr<std::unique_ptr<ByteStream>> ByteStream::Over(std::string name,
                                                             std::unique_ptr<StoredBytes> stored) {
  Magic begun(2);
  size_t have = 0;
  while (have < begun.size()) {
    absl::StatusOr<size_t> n = stored->Read(absl::MakeSpan(begun).subspan(have));
    if (!n.ok()) return Annotate(n.status(), name);
    if (*n == 0) break;
    have += *n;
  }
  if (have == 0) {
    return absl::DataLossError(absl::StrCat(name, ": byte 0: the file is empty; ", kRemedy));
  }
  begun.resize(have);
  if (have == 2 && begun[0] == 0x1f && begun[1] == 0x8b) {
    return std::make_unique<GzipStream>(std::move(name), std::move(stored), begun);
  }
  return std::make_unique<PlainStream>(std::move(name), std::move(stored), std::move(begun));
}

absl::StatusOr<std::unique_ptr<ByteStream>> ByteStream::OverMemory(
    std::string name, absl::Span<const uint8_t> content) {
  return Over(std::move(name), std::make_unique<MemoryBytes>(content));
}

absl::StatusOr<std::unique_ptr<ByteStream>> ByteStream::OpenFile(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes must not hang; regular files ignore it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot open the file"));
  }
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot examine the file"));
  }
  auto stored = std::make_unique<FileBytes>(fd, static_cast<uint64_t>(info.st_size));
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is ", S_ISDIR(info.st_mode) ? "a folder" : "not a regular file",
                     ", where a data file is needed; put the file there"));
  }
  return Over(path, std::move(stored));
}

}  // namespace gg
