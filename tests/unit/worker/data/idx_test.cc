// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/worker/data/data_files.h"
#include "worker/data/formats/formats.h"

namespace gg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<Dataset> Parse(const FileBytes& images, const FileBytes& labels,
                              int64_t classes = 10, int64_t limit = 0) {
  auto image_stream = ByteStream::OverMemory("the-images", images);
  if (!image_stream.ok()) return image_stream.status();
  auto label_stream = ByteStream::OverMemory("the-labels", labels);
  if (!label_stream.ok()) return label_stream.status();
  return ParseIdx(**image_stream, **label_stream, classes, limit);
}

void ExpectDamage(const absl::StatusOr<Dataset>& set, const std::string& file,
                  const std::string& where, const std::string& what) {
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss) << set.status();
  EXPECT_THAT(std::string(set.status().message()),
              AllOf(HasSubstr(file), HasSubstr(where), HasSubstr(what),
                    HasSubstr("replace the file by an intact copy")));
}

bool Same(const Dataset& a, const Dataset& b) {
  return a.shape == b.shape && a.pixels == b.pixels && a.labels == b.labels;
}

TEST(Idx, ReadsPixelsAndLabelsInOrder) {
  const FileBytes images = IdxImages(7), labels = IdxLabels(7);
  const auto set = Parse(images, labels);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->size(), 7);
  EXPECT_EQ(set->shape, (SampleShape{1, kRows, kColumns}));
  EXPECT_EQ(set->classes, 10);
  EXPECT_EQ(set->pixels, FileBytes(images.begin() + 16, images.end()));
  for (int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(set->labels[static_cast<size_t>(i)], labels[8 + static_cast<size_t>(i)]);
    EXPECT_EQ(set->sample(i)[0], images[16 + static_cast<size_t>(i) * kRows * kColumns]);
  }
}

TEST(Idx, GzippedContentLoadsTheSameWhateverTheName) {
  const FileBytes images = IdxImages(300), labels = IdxLabels(300);
  const auto plain = Parse(images, labels);
  const auto packed = Parse(Gzip(images), Gzip(labels));
  ASSERT_TRUE(plain.ok() && packed.ok()) << packed.status();
  EXPECT_TRUE(Same(*plain, *packed));
}

TEST(Idx, SeveralGzipMembersAreOneContent) {
  const FileBytes images = IdxImages(40);
  FileBytes packed = Gzip(First(images, 100));
  const FileBytes rest = Gzip(FileBytes(images.begin() + 100, images.end()));
  packed.insert(packed.end(), rest.begin(), rest.end());
  const auto set = Parse(packed, IdxLabels(40));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(Same(*set, *Parse(images, IdxLabels(40))));
}

TEST(Idx, LimitKeepsTheFirstSamplesAndStillChecksTheRest) {
  const auto all = Parse(IdxImages(9), IdxLabels(9));
  const auto some = Parse(IdxImages(9), IdxLabels(9), 10, 4);
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(some->size(), 4);
  EXPECT_EQ(some->pixels, First(all->pixels, 4 * kRows * kColumns));
  EXPECT_EQ(Parse(IdxImages(9), IdxLabels(9), 10, 100)->size(), 9);
  ExpectDamage(Parse(First(IdxImages(9), 16 + 100), IdxLabels(9), 10, 4), "the-images", "byte 4",
               "room for at most 100 bytes");
  FileBytes packed = Gzip(IdxImages(9));
  packed[packed.size() - 5] ^= 1;  // the checksum
  ExpectDamage(Parse(packed, IdxLabels(9), 10, 4), "the-images", "gzip", "incorrect data check");
}

TEST(Idx, WrongMagicNumberIsNamedWithWhatItIs) {
  FileBytes images = IdxImages(3);
  images[0] = 'P';
  ExpectDamage(Parse(images, IdxLabels(3)), "the-images", "byte 0", "this is no IDX file");
  images = IdxImages(3);
  images[2] = 0x0d;
  ExpectDamage(Parse(images, IdxLabels(3)), "the-images", "byte 0",
               "expected 0x00000803, found 0x00000d03 (elements are not unsigned bytes)");
}

TEST(Idx, WrongNumberOfDimensions) {
  FileBytes images = IdxImages(3);
  images[3] = 4;
  ExpectDamage(Parse(images, IdxLabels(3)), "the-images", "byte 0", "another number of dimensions");
}

TEST(Idx, InterchangedFilesAreRecognised) {
  ExpectDamage(Parse(IdxLabels(3), IdxImages(3)), "the-images", "magic number", "interchanged");
  ExpectDamage(Parse(IdxImages(3), IdxImages(3)), "the-labels", "magic number", "interchanged");
}

TEST(Idx, DifferentNumbersOfImagesAndLabelsNameBothFiles) {
  ExpectDamage(Parse(IdxImages(64), IdxLabels(63)), "the-labels",
               "expected 64, the number of images in the-images", "found 63");
}

TEST(Idx, TruncationAtEveryOffsetOfAPlainFileIsAnError) {
  const FileBytes images = IdxImages(3), labels = IdxLabels(3);
  for (size_t size = 0; size < images.size(); ++size) {
    const auto set = Parse(First(images, size), labels);
    ASSERT_EQ(set.status().code(), absl::StatusCode::kDataLoss) << size;
    ASSERT_THAT(std::string(set.status().message()), HasSubstr("the-images")) << size;
  }
  for (size_t size = 0; size < labels.size(); ++size) {
    const auto set = Parse(images, First(labels, size));
    ASSERT_EQ(set.status().code(), absl::StatusCode::kDataLoss) << size;
    ASSERT_THAT(std::string(set.status().message()), HasSubstr("the-labels")) << size;
  }
}

TEST(Idx, TruncationAtEveryOffsetOfAGzipFileIsAnError) {
  const FileBytes packed = Gzip(IdxImages(30)), labels = IdxLabels(30);
  for (size_t size = 0; size < packed.size(); ++size) {
    const auto set = Parse(First(packed, size), labels);
    ASSERT_EQ(set.status().code(), absl::StatusCode::kDataLoss) << size << set.status();
    ASSERT_THAT(std::string(set.status().message()), HasSubstr("the-images")) << size;
  }
}

TEST(Idx, TrailingBytesAreAnError) {
  FileBytes images = IdxImages(3);
  images.push_back(0);
  ExpectDamage(Parse(images, IdxLabels(3)), "the-images", "byte 76: bytes after the last sample",
               "1 more bytes");
  ExpectDamage(Parse(Gzip(images), IdxLabels(3)), "the-images", "byte 76", "more content");
  FileBytes labels = IdxLabels(3);
  labels.push_back(0);
  ExpectDamage(Parse(IdxImages(3), labels), "the-labels", "byte 11", "end of the file");
}

TEST(Idx, BytesAfterTheGzipDataAreAnError) {
  FileBytes packed = Gzip(IdxImages(3));
  packed.insert(packed.end(), {'t', 'a', 'i', 'l'});
  ExpectDamage(Parse(packed, IdxLabels(3)), "the-images", "gzip data near stored byte",
               "incorrect header check");
}

TEST(Idx, DamagedGzipChecksumIsAnError) {
  FileBytes packed = Gzip(IdxImages(3));
  packed[packed.size() - 8] ^= 0x40;
  ExpectDamage(Parse(packed, IdxLabels(3)), "the-images", "gzip data", "incorrect data check");
  packed[packed.size() - 8] ^= 0x40;
  packed[packed.size() - 1] ^= 0x40;
  ExpectDamage(Parse(packed, IdxLabels(3)), "the-images", "gzip data", "incorrect length check");
}

TEST(Idx, LabelOutOfRangeNamesSampleOffsetAndRemedy) {
  FileBytes labels = IdxLabels(5);
  labels[8 + 3] = 200;
  ExpectDamage(Parse(IdxImages(5), labels), "the-labels", "byte 11: label of sample 3",
               "expected 0 .. 9, found 200 (data.classes is 10: raise it");
  EXPECT_TRUE(Parse(IdxImages(5), labels, 201).ok());
  EXPECT_FALSE(Parse(IdxImages(5), labels, 200).ok());
}

TEST(Idx, AbsurdCountsAreRefusedBeforeMemoryIsAllocated) {
  for (const uint32_t count : {0xffffffffu, 0x80000000u, 4000000000u}) {
    FileBytes images = IdxHeader(0x803, {count, 0xffffffff, 0xffffffff});
    images.resize(4096);
    ExpectDamage(Parse(images, IdxLabels(3)), "the-images", "byte 4", "room for at most 4080");
    ExpectDamage(Parse(Gzip(images), IdxLabels(3)), "the-images", "byte 4", "room for at most");
    FileBytes labels = IdxHeader(0x801, {count});
    labels.resize(100);
    ExpectDamage(Parse(IdxImages(3), labels), "the-labels", "byte 4", absl::StrCat(count));
  }
}

TEST(Idx, ClaimBeyondWhatGzipCanHoldIsRefusedBeforeUnpacking) {
  // A little gzip file whose header claims a terabyte.
  const FileBytes bomb = Gzip(IdxHeader(0x803, {1 << 20, 1 << 10, 1 << 10}));
  ExpectDamage(Parse(bomb, IdxLabels(3)), "the-images", "byte 4", "room for at most");
}

TEST(Idx, ContentBeyondTheClaimedSizeIsNotUnpacked) {
  FileBytes images = IdxImages(3);
  images.resize(50 << 20);  // zeros: some 50 KiB when packed
  ExpectDamage(Parse(Gzip(images), IdxLabels(3)), "the-images", "byte 76", "more content");
}

TEST(Idx, NoSamplesAndEmptyImagesAreErrors) {
  ExpectDamage(Parse(IdxImages(0), IdxLabels(0)), "the-images", "byte 4", "at least 1");
  ExpectDamage(Parse(IdxHeader(0x803, {3, 0, 4}), IdxLabels(3)), "the-images", "byte 8",
               "at least 1 each");
}

TEST(Idx, EmptyFileIsAnError) {
  ExpectDamage(Parse({}, IdxLabels(3)), "the-images", "byte 0", "the file is empty");
}

// A flipped bit of a plain file's pixel or label can look sound: then exactly that one value
// differs. A gzip file's checksum finds every change of the content.
TEST(Idx, FlippedBitsGiveAnErrorOrChangeNoMoreThanTheirOwnByte) {
  const FileBytes images = IdxImages(20), labels = IdxLabels(20);
  const auto sound = Parse(images, labels);
  Rng rng(5, "test/flips");
  for (int round = 0; round < 3000; ++round) {
    FileBytes damaged_images = images, damaged_labels = labels;
    FileBytes& file = rng.Below(2) == 0 ? damaged_images : damaged_labels;
    file[rng.Below(file.size())] ^= static_cast<uint8_t>(1 << rng.Below(8));
    const auto set = Parse(damaged_images, damaged_labels);
    if (!set.ok()) {
      ASSERT_EQ(set.status().code(), absl::StatusCode::kDataLoss) << set.status();
      continue;
    }
    ASSERT_EQ(set->shape, sound->shape);
    ASSERT_EQ(set->size(), sound->size());
    int differing = 0;
    for (size_t i = 0; i < set->pixels.size(); ++i) differing += set->pixels[i] != sound->pixels[i];
    for (size_t i = 0; i < set->labels.size(); ++i) differing += set->labels[i] != sound->labels[i];
    ASSERT_EQ(differing, 1) << round;
  }
}

TEST(Idx, FlippedBitsOfGzipFilesGiveAnErrorOrTheSameData) {
  const FileBytes labels = IdxLabels(60), packed = Gzip(IdxImages(60));
  const auto sound = Parse(packed, labels);
  int harmless = 0;
  Rng rng(6, "test/flips");
  for (int round = 0; round < 3000; ++round) {
    FileBytes damaged = packed;
    damaged[rng.Below(damaged.size())] ^= static_cast<uint8_t>(1 << rng.Below(8));
    const auto set = Parse(damaged, labels);
    if (!set.ok()) {
      ASSERT_EQ(set.status().code(), absl::StatusCode::kDataLoss) << set.status();
      continue;
    }
    ++harmless;  // the header's time stamp, say
    ASSERT_TRUE(Same(*set, *sound)) << round;
  }
  EXPECT_LT(harmless, 100);
}

}  // namespace
}  // namespace gg
