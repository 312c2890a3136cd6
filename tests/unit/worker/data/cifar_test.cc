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

absl::StatusOr<Dataset> Parse(const FileBytes& content, const CifarLayout& layout,
                              int64_t limit = 0) {
  auto stream = ByteStream::OverMemory("the-batch", content);
  if (!stream.ok()) return stream.status();
  Dataset set;
  const auto records = ParseCifar(**stream, layout, limit, set);
  if (!records.ok()) return records.status();
  return set;
}

void ExpectDamage(const absl::StatusOr<Dataset>& set, const std::string& where,
                  const std::string& what) {
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss) << set.status();
  EXPECT_THAT(std::string(set.status().message()),
              AllOf(HasSubstr("the-batch"), HasSubstr(where), HasSubstr(what)));
}

TEST(Cifar10, ReadsRecords) {
  const FileBytes file = CifarRecords(4, false);
  for (const FileBytes& content : {file, Gzip(file)}) {
    const auto set = Parse(content, kCifar10);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->size(), 4);
    EXPECT_EQ(set->shape, (SampleShape{3, 32, 32}));
    EXPECT_EQ(set->classes, 10);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(set->labels[i], file[i * 3073]);
      const auto sample = set->sample(static_cast<int64_t>(i));
      EXPECT_TRUE(std::equal(sample.begin(), sample.end(),
                             file.begin() + static_cast<ptrdiff_t>(i) * 3073 + 1));
    }
  }
}

TEST(Cifar100, TakesTheFineLabel) {
  const FileBytes file = CifarRecords(5, true);
  const auto set = Parse(file, kCifar100);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->classes, 100);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(set->labels[i], file[i * 3074 + 1]);
}

TEST(Cifar10, LimitKeepsTheFirstRecordsAndStillChecksTheRest) {
  FileBytes file = CifarRecords(6, false);
  EXPECT_EQ(Parse(file, kCifar10, 2)->size(), 2);
  file[5 * 3073] = 77;
  ExpectDamage(Parse(file, kCifar10, 2), "byte 15365: label of record 5",
               "expected 0 .. 9, found 77");
}

TEST(Cifar10, TruncationInsideARecordIsAnErrorAtEveryOffset) {
  const FileBytes file = CifarRecords(2, false);
  for (size_t size = 3074; size < file.size(); size += 13) {
    ExpectDamage(Parse(First(file, size), kCifar10), "the file ends inside its record 1",
                 absl::StrCat("only ", size - 3073));
  }
  for (size_t size = 1; size < 3073; size += 101) {
    ExpectDamage(Parse(First(file, size), kCifar10), "the file ends inside its record 0", "only");
  }
}

TEST(Cifar10, TruncatedGzipIsAnError) {
  const FileBytes packed = Gzip(CifarRecords(2, false));
  for (size_t size = 1; size < packed.size(); size += 17) {
    EXPECT_EQ(Parse(First(packed, size), kCifar10).status().code(), absl::StatusCode::kDataLoss)
        << size;
  }
}

TEST(Cifar10, EmptyFileIsAnError) {
  ExpectDamage(Parse({}, kCifar10), "byte 0", "empty");
  ExpectDamage(Parse(Gzip({}), kCifar10), "byte 0", "number of records: expected at least 1");
}

TEST(Cifar10, LabelOutOfRangeIsAnError) {
  FileBytes file = CifarRecords(3, false);
  file[3073] = 10;
  ExpectDamage(Parse(file, kCifar10), "byte 3073: label of record 1", "found 10");
}

TEST(Cifar100, EitherLabelOutOfRangeIsAnError) {
  FileBytes file = CifarRecords(3, true);
  file[3074] = 20;
  ExpectDamage(Parse(file, kCifar100), "byte 3074: label of record 1",
               "expected 0 .. 19, found 20");
  file = CifarRecords(3, true);
  file[3075] = 100;
  ExpectDamage(Parse(file, kCifar100), "byte 3075: label of record 1", "expected 0 .. 99");
}

TEST(Cifar10, AFileOfTheOtherKindIsAnError) {
  EXPECT_EQ(Parse(CifarRecords(3, true), kCifar10).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Parse(CifarRecords(3, false), kCifar100).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Cifar10, FlippedBitsGiveAnErrorOrChangeNoMoreThanTheirOwnByte) {
  const FileBytes file = CifarRecords(3, false);
  const auto sound = Parse(file, kCifar10);
  Rng rng(9, "test/flips");
  for (int round = 0; round < 500; ++round) {
    FileBytes damaged = file;
    // Every other flip hits a label.
    const size_t at = round % 2 == 0 ? rng.Below(3) * 3073 : rng.Below(file.size());
    damaged[at] ^= static_cast<uint8_t>(1 << rng.Below(8));
    const auto set = Parse(damaged, kCifar10);
    if (!set.ok()) {
      ASSERT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
      continue;
    }
    int differing = 0;
    for (size_t i = 0; i < set->pixels.size(); ++i) differing += set->pixels[i] != sound->pixels[i];
    for (size_t i = 0; i < set->labels.size(); ++i) differing += set->labels[i] != sound->labels[i];
    ASSERT_EQ(differing, 1);
  }
}

}  // namespace
}  // namespace gg
