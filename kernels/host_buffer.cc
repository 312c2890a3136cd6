// SPDX-License-Identifier: Apache-2.0
#include "kernels/host_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = size_t{1} << 20;

class HostBuffer : public Buffer {
 public:
  HostBuffer(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  ~HostBuffer() override { std::free(data_); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  void* data() override { return data_; }
  size_t bytes() const override { return bytes_; }

 private:
  void* const data_;
  const size_t bytes_;
};

// Asking for more than there is would succeed on many systems, and end the process while the pages
// are being touched.
size_t PhysicalBytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t RoundUp(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Buffer>> AllocateHost(size_t bytes) {
  const size_t most = PhysicalBytes();
  if (bytes > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a buffer of ", bytes, " bytes: this machine has ", most));
  }
  const bool huge = bytes >= kHugeFrom;
  const size_t unit = huge ? kHugePage : kAlignment;
  const size_t reserved = bytes == 0 ? unit : RoundUp(bytes, unit);
  void* data = nullptr;
  if (posix_memalign(&data, unit, reserved) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a buffer of ", bytes, " bytes"));
  }
  // Advice only: without huge pages the buffer works as well, slower.
  if (huge) (void)madvise(data, reserved, MADV_HUGEPAGE);
  std::memset(data, 0, reserved);
  return std::make_unique<HostBuffer>(data, bytes);
}

}  // namespace gg
