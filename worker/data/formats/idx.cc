// SPDX-License-Identifier: Apache-2.0
//
// IDX: a magic number of four bytes (0, 0, element type, number of dimensions), each dimension as a
// big-endian 32-bit number, then the elements, last dimension fastest. docs/formats/datasets.md
// describes the files.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "worker/data/formats/data_folder.h"
#include "worker/data/formats/formats.h"

namespace gg {
namespace {

constexpr uint32_t kImageMagic = 0x00000803;
constexpr uint32_t kLabelMagic = 0x00000801;
constexpr absl::string_view kObtain =
    "put the four files of the set there, as published (train-images-idx3-ubyte.gz, ...)";

absl::StatusOr<uint32_t> ReadBigEndian(ByteStream& in, absl::string_view what) {
  std::array<uint8_t, 4> bytes;
  GG_RETURN_IF_ERROR(in.Read(absl::MakeSpan(bytes), what));
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

absl::string_view Explain(uint32_t magic) {
  if (magic == kImageMagic) return " (images: are the two files interchanged?)";
  if (magic == kLabelMagic) return " (labels: are the two files interchanged?)";
  if (magic >> 16 != 0) return " (this is no IDX file)";
  if ((magic >> 8 & 0xff) != 0x08) return " (elements are not unsigned bytes)";
  return " (another number of dimensions)";
}

absl::Status ExpectMagic(ByteStream& in, uint32_t expected) {
  GG_ASSIGN_OR_RETURN(const uint32_t magic, ReadBigEndian(in, "magic number"));
  if (magic == expected) return absl::OkStatus();
  return in.Damage(0, "magic number", absl::StrFormat("0x%08x", expected),
                   absl::StrCat(absl::StrFormat("0x%08x", magic), Explain(magic)));
}

struct ImageHeader {
  uint32_t count = 0, height = 0, width = 0;
};

// Refuses what cannot be true before memory is allocated for it.
absl::StatusOr<ImageHeader> ReadImageHeader(ByteStream& in) {
  GG_RETURN_IF_ERROR(ExpectMagic(in, kImageMagic));
  ImageHeader header;
  GG_ASSIGN_OR_RETURN(header.count, ReadBigEndian(in, "number of images"));
  GG_ASSIGN_OR_RETURN(header.height, ReadBigEndian(in, "number of rows"));
  GG_ASSIGN_OR_RETURN(header.width, ReadBigEndian(in, "number of columns"));
  if (header.count == 0) return in.Damage(4, "number of images", "at least 1", "0");
  if (header.height == 0 || header.width == 0) {
    return in.Damage(8, "rows and columns of an image", "at least 1 each",
                     absl::StrCat(header.height, " and ", header.width));
  }
  uint64_t all = uint64_t{header.height} * header.width;
  const bool overflow = __builtin_mul_overflow(all, uint64_t{header.count}, &all);
  if (overflow || all > in.MostThatCanFollow()) {
    return in.Damage(4, "size of the images",
                     absl::StrCat(header.count, " images of ", header.height, " x ", header.width,
                                  " pixels, as the header says"),
                     absl::StrCat("room for at most ", in.MostThatCanFollow(), " bytes"));
  }
  if (all > kMostSplitBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(in.name(), ": ", all, " bytes of pixels, more than the ", kMostSplitBytes,
                     " that are held in memory; split the set"));
  }
  return header;
}

absl::StatusOr<uint32_t> ReadLabelHeader(ByteStream& in) {
  GG_RETURN_IF_ERROR(ExpectMagic(in, kLabelMagic));
  GG_ASSIGN_OR_RETURN(const uint32_t count, ReadBigEndian(in, "number of labels"));
  if (count > in.MostThatCanFollow()) {
    return in.Damage(4, "number of labels", absl::StrCat(count, " labels, as the header says"),
                     absl::StrCat("room for at most ", in.MostThatCanFollow(), " bytes"));
  }
  return count;
}

absl::StatusOr<std::vector<int32_t>> ReadLabels(ByteStream& in, uint32_t count, int64_t classes) {
  const uint64_t begin = in.offset();
  std::vector<uint8_t> bytes(count);
  GG_RETURN_IF_ERROR(in.Read(absl::MakeSpan(bytes), "labels"));
  GG_RETURN_IF_ERROR(in.ExpectEnd());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] < classes) continue;
    return in.Damage(
        begin + i, absl::StrCat("label of sample ", i), absl::StrCat("0 .. ", classes - 1),
        absl::StrCat(bytes[i], " (data.classes is ", classes, ": raise it if the set has more)"));
  }
  return std::vector<int32_t>(bytes.begin(), bytes.end());
}

}  // namespace

absl::StatusOr<Dataset> ParseIdx(ByteStream& images, ByteStream& labels, int64_t classes,
                                 int64_t limit) {
  GG_ASSIGN_OR_RETURN(const ImageHeader header, ReadImageHeader(images));
  GG_ASSIGN_OR_RETURN(const uint32_t label_count, ReadLabelHeader(labels));
  if (label_count != header.count) {
    return labels.Damage(4, "number of labels",
                         absl::StrCat(header.count, ", the number of images in ", images.name()),
                         absl::StrCat(label_count));
  }
  Dataset set;
  set.shape = {.channels = 1, .height = header.height, .width = header.width};
  set.classes = classes;
  GG_ASSIGN_OR_RETURN(set.labels, ReadLabels(labels, label_count, classes));

  const int64_t kept = limit > 0 ? std::min<int64_t>(limit, header.count) : header.count;
  set.labels.resize(static_cast<size_t>(kept));
  set.pixels.resize(static_cast<size_t>(kept) * set.shape.bytes());
  GG_RETURN_IF_ERROR(images.Read(absl::MakeSpan(set.pixels), "pixels"));
  GG_RETURN_IF_ERROR(
      images.Skip(static_cast<uint64_t>(header.count - kept) * set.shape.bytes(), "pixels"));
  GG_RETURN_IF_ERROR(images.ExpectEnd());
  return set;
}

absl::StatusOr<Dataset> LoadIdx(const DataSpec& spec, Split split, uint64_t /*seed*/) {
  if (spec.classes < 1 || spec.classes > 256) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.classes must be 1 .. 256 for format idx (labels are bytes); it is ", spec.classes));
  }
  const std::string prefix = split == Split::kTrain ? "train" : "t10k";
  const auto open = [&](absl::string_view kind) -> absl::StatusOr<std::unique_ptr<ByteStream>> {
    const std::string name = absl::StrCat(prefix, "-", kind, "-ubyte");
    GG_ASSIGN_OR_RETURN(const std::string path,
                        FindDataFile(spec.path, {name, absl::StrCat(name, ".gz")}, kObtain));
    return ByteStream::OpenFile(path);
  };
  GG_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> images, open("images-idx3"));
  GG_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> labels, open("labels-idx1"));
  return ParseIdx(*images, *labels, spec.classes,
                  split == Split::kTrain ? spec.limit_train : spec.limit_test);
}

}  // namespace gg
