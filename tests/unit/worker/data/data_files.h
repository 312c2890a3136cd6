// SPDX-License-Identifier: Apache-2.0
//
// Small data files made in memory, a folder that vanishes with the test, and gzip.
#ifndef GOSSIPGRAD_TESTS_UNIT_WORKER_DATA_DATA_FILES_H_
#define GOSSIPGRAD_TESTS_UNIT_WORKER_DATA_DATA_FILES_H_

#include <stdlib.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/rng.h"

namespace gg {

using FileBytes = std::vector<uint8_t>;

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gg-data-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  void Write(const std::string& name, const FileBytes& content) const {
    std::ofstream out(File(name), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
  }

 private:
  std::string path_;
};

inline void AppendBigEndian(FileBytes& to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<uint8_t>(value >> shift));
}

inline FileBytes RandomBytes(size_t count, uint64_t seed, uint64_t below = 256) {
  Rng rng(seed, "test/bytes");
  FileBytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.Below(below));
  return bytes;
}

// Sound files of `count` samples of 5 x 4 pixels and labels 0 .. 9.
inline constexpr uint32_t kRows = 5, kColumns = 4;

inline FileBytes IdxHeader(uint32_t magic, std::initializer_list<uint32_t> dimensions) {
  FileBytes file;
  AppendBigEndian(file, magic);
  for (const uint32_t dimension : dimensions) AppendBigEndian(file, dimension);
  return file;
}

inline FileBytes IdxImages(uint32_t count) {
  FileBytes file = IdxHeader(0x803, {count, kRows, kColumns});
  const FileBytes pixels = RandomBytes(size_t{count} * kRows * kColumns, 1);
  file.insert(file.end(), pixels.begin(), pixels.end());
  return file;
}

inline FileBytes IdxLabels(uint32_t count) {
  FileBytes file = IdxHeader(0x801, {count});
  const FileBytes labels = RandomBytes(count, 2, 10);
  file.insert(file.end(), labels.begin(), labels.end());
  return file;
}

// `coarse_and_fine`: as CIFAR-100, otherwise as CIFAR-10.
inline FileBytes CifarRecords(int count, bool coarse_and_fine, uint64_t seed = 3) {
  Rng rng(seed, "test/cifar");
  FileBytes file;
  for (int i = 0; i < count; ++i) {
    if (coarse_and_fine) file.push_back(static_cast<uint8_t>(rng.Below(20)));
    file.push_back(static_cast<uint8_t>(rng.Below(coarse_and_fine ? 100 : 10)));
    const FileBytes pixels = RandomBytes(3072, seed * 1000 + static_cast<uint64_t>(i));
    file.insert(file.end(), pixels.begin(), pixels.end());
  }
  return file;
}

inline FileBytes Gzip(const FileBytes& content) {
  z_stream z{};
  deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  FileBytes packed(deflateBound(&z, content.size()));
  z.next_in = const_cast<Bytef*>(content.data());
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = packed.data();
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

inline FileBytes First(const FileBytes& bytes, size_t count) {
  return FileBytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count));
}

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_WORKER_DATA_DATA_FILES_H_
