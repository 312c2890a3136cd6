// SPDX-License-Identifier: Apache-2.0
//
// LoadDataset() on folders: what is found, and what is said when it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/worker/data/data_files.h"
#include "worker/data/dataset.h"

namespace gg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

DataSpec Spec(const std::string& path, const std::string& format = "idx") {
  DataSpec spec;
  spec.format = format;
  spec.path = path;
  return spec;
}

class DataFolder : public ::testing::Test {
 protected:
  void ExpectRefused(const DataSpec& spec, Split split, absl::StatusCode code,
                     const std::string& first, const std::string& second) {
    const auto set = LoadDataset(spec, split, 1);
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.status().code(), code) << set.status();
    EXPECT_THAT(std::string(set.status().message()), AllOf(HasSubstr(first), HasSubstr(second)));
  }
  void WriteIdx() {
    folder_.Write("train-images-idx3-ubyte", IdxImages(30));
    folder_.Write("train-labels-idx1-ubyte", IdxLabels(30));
    folder_.Write("t10k-images-idx3-ubyte.gz", Gzip(IdxImages(20)));
    folder_.Write("t10k-labels-idx1-ubyte.gz", Gzip(IdxLabels(20)));
  }
  void WriteCifar10() {
    for (uint64_t i = 1; i <= 5; ++i) {
      folder_.Write(absl::StrCat("data_batch_", i, ".bin"), CifarRecords(3, false, i));
    }
    folder_.Write("test_batch.bin", CifarRecords(2, false, 6));
  }

  TempFolder folder_;
};

TEST_F(DataFolder, IdxPlainAndGzipSplitsLoad) {
  WriteIdx();
  EXPECT_EQ((*LoadDataset(Spec(folder_.path()), Split::kTrain, 1))->size(), 30);
  EXPECT_EQ((*LoadDataset(Spec(folder_.path()), Split::kTest, 1))->size(), 20);
}

TEST_F(DataFolder, UnpackedFileThatKeptItsGzNameLoads) {
  folder_.Write("train-images-idx3-ubyte.gz", IdxImages(30));
  folder_.Write("train-labels-idx1-ubyte.gz", IdxLabels(30));
  EXPECT_TRUE(LoadDataset(Spec(folder_.path()), Split::kTrain, 1).ok());
}

TEST_F(DataFolder, LimitsApplyToTheirOwnSplit) {
  WriteIdx();
  DataSpec spec = Spec(folder_.path());
  spec.limit_train = 7;
  EXPECT_EQ((*LoadDataset(spec, Split::kTrain, 1))->size(), 7);
  EXPECT_EQ((*LoadDataset(spec, Split::kTest, 1))->size(), 20);
  spec.limit_test = 5;
  EXPECT_EQ((*LoadDataset(spec, Split::kTest, 1))->size(), 5);
  spec.limit_test = -1;
  ExpectRefused(spec, Split::kTest, absl::StatusCode::kInvalidArgument, "data.limit_test", "-1");
}

TEST_F(DataFolder, DamageNamesTheFileByItsPathAndTheSplit) {
  WriteIdx();
  folder_.Write("t10k-labels-idx1-ubyte.gz", Gzip(IdxLabels(19)));
  ExpectRefused(Spec(folder_.path()), Split::kTest, absl::StatusCode::kDataLoss,
                folder_.File("t10k-labels-idx1-ubyte.gz"), "test data");
}

TEST_F(DataFolder, EmptyFolderSaysWhatWasLookedFor) {
  ExpectRefused(Spec(folder_.path()), Split::kTrain, absl::StatusCode::kNotFound,
                "train-images-idx3-ubyte, train-images-idx3-ubyte.gz", "the folder is empty");
  ExpectRefused(Spec(folder_.path(), "cifar10"), Split::kTrain, absl::StatusCode::kNotFound,
                "data_batch_1.bin", "cifar-10-binary.tar.gz");
}

TEST_F(DataFolder, FolderOfSomethingElseSaysWhatItHolds) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) folder_.Write(name, {1});
  ExpectRefused(Spec(folder_.path(), "cifar100"), Split::kTest, absl::StatusCode::kNotFound,
                "test.bin", "holds a, b, c, d, e, f and 2 more");
}

TEST_F(DataFolder, MissingLabelFileIsNamed) {
  WriteIdx();
  unlink(folder_.File("t10k-labels-idx1-ubyte.gz").c_str());
  ExpectRefused(Spec(folder_.path()), Split::kTest, absl::StatusCode::kNotFound,
                "t10k-labels-idx1-ubyte", "t10k-images-idx3-ubyte.gz");
}

TEST_F(DataFolder, MissingFolder) {
  ExpectRefused(Spec(folder_.File("nowhere")), Split::kTrain, absl::StatusCode::kNotFound,
                folder_.File("nowhere"), "no such folder");
}

TEST_F(DataFolder, NoPathGiven) {
  ExpectRefused(Spec(""), Split::kTrain, absl::StatusCode::kInvalidArgument, "data.path is empty",
                "train-images-idx3-ubyte");
}

TEST_F(DataFolder, PathOfAFile) {
  folder_.Write("file", {1, 2, 3});
  ExpectRefused(Spec(folder_.File("file")), Split::kTrain, absl::StatusCode::kInvalidArgument,
                folder_.File("file"), "is not a folder");
}

TEST_F(DataFolder, FolderWhereAFileIsDue) {
  WriteIdx();
  unlink(folder_.File("train-images-idx3-ubyte").c_str());
  mkdir(folder_.File("train-images-idx3-ubyte").c_str(), 0700);
  ExpectRefused(Spec(folder_.path()), Split::kTrain, absl::StatusCode::kInvalidArgument,
                "train-images-idx3-ubyte", "is a folder");
}

TEST_F(DataFolder, PipeWhereAFileIsDueDoesNotHang) {
  WriteIdx();
  unlink(folder_.File("train-images-idx3-ubyte").c_str());
  ASSERT_EQ(mkfifo(folder_.File("train-images-idx3-ubyte").c_str(), 0600), 0);
  ExpectRefused(Spec(folder_.path()), Split::kTrain, absl::StatusCode::kInvalidArgument,
                "train-images-idx3-ubyte", "not a regular file");
}

TEST_F(DataFolder, LinkThatLeadsNowhere) {
  ASSERT_EQ(symlink("gone", folder_.File("train-images-idx3-ubyte").c_str()), 0);
  ExpectRefused(Spec(folder_.path()), Split::kTrain, absl::StatusCode::kNotFound,
                "train-images-idx3-ubyte", "cannot open the file");
}

// Root may read everything: as root, the test reads as nobody.
class AsNobody {
 public:
  AsNobody() {
    if (was_ == 0 && seteuid(65534) != 0) ADD_FAILURE() << "cannot become nobody";
  }
  ~AsNobody() {
    if (was_ == 0 && seteuid(0) != 0) ADD_FAILURE() << "cannot become root again";
  }

 private:
  const uid_t was_ = geteuid();
};

TEST_F(DataFolder, UnreadableFile) {
  WriteIdx();
  chmod(folder_.path().c_str(), 0755);
  chmod(folder_.File("train-images-idx3-ubyte").c_str(), 0);
  const AsNobody nobody;
  ExpectRefused(Spec(folder_.path()), Split::kTrain, absl::StatusCode::kPermissionDenied,
                "train-images-idx3-ubyte", "cannot open the file");
}

TEST_F(DataFolder, UnreadableFolder) {
  mkdir(folder_.File("inner").c_str(), 0);
  chmod(folder_.path().c_str(), 0);
  {
    const AsNobody nobody;
    ExpectRefused(Spec(folder_.File("inner")), Split::kTrain, absl::StatusCode::kPermissionDenied,
                  folder_.File("inner"), "cannot examine the folder");
  }
  chmod(folder_.path().c_str(), 0700);
}

TEST_F(DataFolder, Cifar10JoinsItsBatchesInOrder) {
  WriteCifar10();
  const auto set = LoadDataset(Spec(folder_.path(), "cifar10"), Split::kTrain, 1);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ((*set)->size(), 15);
  const FileBytes fourth = CifarRecords(3, false, 4);
  EXPECT_TRUE(std::equal(fourth.begin() + 1, fourth.begin() + 3073, (*set)->sample(9).begin()));
  EXPECT_EQ((*LoadDataset(Spec(folder_.path(), "cifar10"), Split::kTest, 1))->size(), 2);
  DataSpec limited = Spec(folder_.path(), "cifar10");
  limited.limit_train = 7;
  EXPECT_EQ((*LoadDataset(limited, Split::kTrain, 1))->size(), 7);
}

TEST_F(DataFolder, CifarBatchCutBetweenTwoRecordsIsFoundByItsNumberOfRecords) {
  WriteCifar10();
  folder_.Write("data_batch_3.bin", CifarRecords(2, false, 3));
  ExpectRefused(Spec(folder_.path(), "cifar10"), Split::kTrain, absl::StatusCode::kDataLoss,
                "data_batch_3.bin", "expected 3, as in ");
}

TEST_F(DataFolder, MissingCifarBatchIsNamed) {
  WriteCifar10();
  unlink(folder_.File("data_batch_4.bin").c_str());
  ExpectRefused(Spec(folder_.path(), "cifar10"), Split::kTrain, absl::StatusCode::kNotFound,
                "data_batch_4.bin", "holds data_batch_1.bin");
}

TEST_F(DataFolder, Cifar100Loads) {
  folder_.Write("train.bin", CifarRecords(4, true));
  folder_.Write("test.bin.gz", Gzip(CifarRecords(3, true)));
  EXPECT_EQ((*LoadDataset(Spec(folder_.path(), "cifar100"), Split::kTrain, 1))->size(), 4);
  EXPECT_EQ((*LoadDataset(Spec(folder_.path(), "cifar100"), Split::kTest, 1))->size(), 3);
}

TEST_F(DataFolder, UnknownFormatListsTheKnownOnes) {
  ExpectRefused(Spec(folder_.path(), "mnist"), Split::kTrain, absl::StatusCode::kInvalidArgument,
                "'mnist'", "idx, cifar10, cifar100, synthetic");
}

TEST_F(DataFolder, ImpossibleNumberOfClasses) {
  WriteIdx();
  for (const int64_t classes : {-1, 0, 257}) {
    DataSpec spec = Spec(folder_.path());
    spec.classes = classes;
    ExpectRefused(spec, Split::kTrain, absl::StatusCode::kInvalidArgument, "data.classes",
                  absl::StrCat(classes));
  }
}

}  // namespace
}  // namespace gg
