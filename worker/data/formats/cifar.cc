// SPDX-License-Identifier: Apache-2.0
//
// The binary versions of CIFAR: records without a header, so that a file's length and its label
// bytes are all that can be checked. docs/formats/datasets.md describes the files.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "worker/data/formats/data_folder.h"
#include "worker/data/formats/formats.h"

namespace gg {
namespace {

constexpr SampleShape kShape{.channels = 3, .height = 32, .width = 32};
constexpr int64_t kCoarseClasses = 20;

struct CifarFiles {
  CifarLayout layout;
  std::vector<std::string> names;
  std::string remedy;
};

absl::StatusOr<Dataset> LoadCifar(const CifarFiles& files, const DataSpec& spec, Split split) {
  const int64_t limit = split == Split::kTrain ? spec.limit_train : spec.limit_test;
  Dataset set;
  set.shape = kShape;
  set.classes = files.layout.classes;
  std::string first_path;
  int64_t first_records = 0;
  for (const std::string& name : files.names) {
    GG_ASSIGN_OR_RETURN(const std::string path,
                        FindDataFile(spec.path, {name, absl::StrCat(name, ".gz")}, files.remedy));
    GG_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> file, ByteStream::OpenFile(path));
    GG_ASSIGN_OR_RETURN(const int64_t records, ParseCifar(*file, files.layout, limit, set));
    if (first_path.empty()) {
      first_path = path;
      first_records = records;
    } else if (records != first_records) {
      // A file that was cut between two records is sound in itself.
      return file->Damage(file->offset(), "number of records",
                          absl::StrCat(first_records, ", as in ", first_path),
                          absl::StrCat(records));
    }
  }
  return set;
}

// The label of record `record`, whose label bytes lie at `offset`.
absl::StatusOr<int32_t> CheckedLabel(const ByteStream& file, const CifarLayout& layout,
                                     absl::Span<const uint8_t> bytes, int64_t record,
                                     uint64_t offset) {
  const int64_t bounds[] = {kCoarseClasses, layout.classes};
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int64_t bound = bounds[i + 2 - bytes.size()];
    if (bytes[i] < bound) continue;
    return file.Damage(offset + i, absl::StrCat("label of record ", record),
                       absl::StrCat("0 .. ", bound - 1),
                       absl::StrCat(bytes[i], " (a file of another kind, or a shifted one?)"));
  }
  return bytes.back();
}

}  // namespace

absl::StatusOr<int64_t> ParseCifar(ByteStream& file, const CifarLayout& layout, int64_t limit,
                                   Dataset& into) {
  const size_t label_bytes = static_cast<size_t>(layout.label_bytes);
  std::vector<uint8_t> record(label_bytes + kShape.bytes());
  if (into.labels.empty()) {
    into.shape = kShape;
    into.classes = layout.classes;
  }
  int64_t records = 0;
  for (;; ++records) {
    const uint64_t offset = file.offset();
    GG_ASSIGN_OR_RETURN(const bool at_end, file.AtEnd());
    if (at_end) break;
    GG_RETURN_IF_ERROR(
        file.Read(absl::MakeSpan(record), absl::StrCat("record ", records, " (label and pixels)")));
    const auto bytes = absl::MakeConstSpan(record);
    GG_ASSIGN_OR_RETURN(const int32_t label,
                        CheckedLabel(file, layout, bytes.first(label_bytes), records, offset));
    if (limit > 0 && into.size() >= limit) continue;
    if (into.pixels.size() >= kMostSplitBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(file.name(), ": more than the ", kMostSplitBytes,
                       " bytes of pixels that are held in memory; set a limit"));
    }
    into.labels.push_back(label);
    into.pixels.insert(into.pixels.end(), record.begin() + layout.label_bytes, record.end());
  }
  if (records == 0) return file.Damage(0, "number of records", "at least 1", "0");
  return records;
}

absl::StatusOr<Dataset> LoadCifar10(const DataSpec& spec, Split split, uint64_t /*seed*/) {
  CifarFiles files{.layout = kCifar10,
                   .names = {"test_batch.bin"},
                   .remedy =
                       "unpack cifar-10-binary.tar.gz (the binary version) and set data.path "
                       "to its folder cifar-10-batches-bin"};
  if (split == Split::kTrain) {
    files.names.clear();
    for (int i = 1; i <= 5; ++i) files.names.push_back(absl::StrCat("data_batch_", i, ".bin"));
  }
  return LoadCifar(files, spec, split);
}

absl::StatusOr<Dataset> LoadCifar100(const DataSpec& spec, Split split, uint64_t /*seed*/) {
  return LoadCifar({.layout = kCifar100,
                    .names = {split == Split::kTrain ? "train.bin" : "test.bin"},
                    .remedy = "unpack cifar-100-binary.tar.gz (the binary version) and set "
                              "data.path to its folder cifar-100-binary"},
                   spec, split);
}

}  // namespace gg
