// SPDX-License-Identifier: Apache-2.0
//
// An input is two bytes, the length of the label file, then that file, then the image file; each
// plain or gzipped. The files are also parsed after packing them, so that mutations reach the
// parser behind the checksum.
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/fuzz/dataset_invariants.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/data/formats/formats.h"

namespace gg {
namespace {

absl::StatusOr<Dataset> Parse(absl::Span<const uint8_t> images, absl::Span<const uint8_t> labels) {
  auto image_stream = ByteStream::OverMemory("images", images);
  if (!image_stream.ok()) return image_stream.status();
  auto label_stream = ByteStream::OverMemory("labels", labels);
  if (!label_stream.ok()) return label_stream.status();
  return ParseIdx(**image_stream, **label_stream, 10, 3);
}

std::vector<uint8_t> Gzip(absl::Span<const uint8_t> content) {
  z_stream z{};
  deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::vector<uint8_t> packed(deflateBound(&z, content.size()));
  z.next_in = const_cast<Bytef*>(content.data());
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = packed.data();
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

bool IsGzip(absl::Span<const uint8_t> file) {
  return file.size() >= 2 && file[0] == 0x1f && file[1] == 0x8b;
}

}  // namespace

int FuzzOne(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto files = absl::MakeConstSpan(data, size).subspan(2);
  const size_t label_bytes = std::min<size_t>(size_t{data[0]} << 8 | data[1], files.size());
  const auto labels = files.first(label_bytes), images = files.subspan(label_bytes);
  const absl::StatusOr<Dataset> set = Parse(images, labels);
  if (set.ok()) {
    CheckInvariants(*set, size);
  } else {
    CheckRefusal(set.status());
  }
  if (IsGzip(images) || IsGzip(labels) || images.empty() || labels.empty()) return 0;
  const absl::StatusOr<Dataset> packed = Parse(Gzip(images), Gzip(labels));
  if (packed.ok() != set.ok()) std::abort();
  if (set.ok() && (packed->pixels != set->pixels || packed->labels != set->labels)) std::abort();
  return 0;
}

}  // namespace gg
