// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "worker/data/dataset.h"

namespace gg {
namespace {

DataSpec Spec() {
  DataSpec spec;
  spec.format = "synthetic";
  spec.shape = {2, 9, 7};
  spec.classes = 5;
  spec.train_samples = 600;
  spec.test_samples = 200;
  return spec;
}

TEST(Synthetic, HasTheShapeAndNumbersAskedFor) {
  const auto train = *LoadDataset(Spec(), Split::kTrain, 1);
  EXPECT_EQ(train->size(), 600);
  EXPECT_EQ(train->shape, (SampleShape{2, 9, 7}));
  EXPECT_EQ(train->pixels.size(), 600u * 126);
  EXPECT_EQ(std::set<int32_t>(train->labels.begin(), train->labels.end()),
            (std::set<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ((*LoadDataset(Spec(), Split::kTest, 1))->size(), 200);
}

TEST(Synthetic, IsAFunctionOfTheSeed) {
  const auto a = *LoadDataset(Spec(), Split::kTrain, 7);
  const auto b = *LoadDataset(Spec(), Split::kTrain, 7);
  const auto c = *LoadDataset(Spec(), Split::kTrain, 8);
  EXPECT_EQ(a->pixels, b->pixels);
  EXPECT_EQ(a->labels, b->labels);
  EXPECT_NE(a->pixels, c->pixels);
}

TEST(Synthetic, TestSamplesAreNotTrainingSamples) {
  const auto train = *LoadDataset(Spec(), Split::kTrain, 1);
  const auto test = *LoadDataset(Spec(), Split::kTest, 1);
  std::set<std::vector<uint8_t>> known;
  for (int64_t i = 0; i < train->size(); ++i) {
    known.emplace(train->sample(i).begin(), train->sample(i).end());
  }
  EXPECT_EQ(known.size(), 600u);
  for (int64_t i = 0; i < test->size(); ++i) {
    EXPECT_FALSE(known.contains({test->sample(i).begin(), test->sample(i).end()}));
  }
}

TEST(Synthetic, ALimitIsAPrefix) {
  DataSpec limited = Spec();
  limited.limit_train = 50;
  const auto all = *LoadDataset(Spec(), Split::kTrain, 1);
  const auto some = *LoadDataset(limited, Split::kTrain, 1);
  ASSERT_EQ(some->size(), 50);
  EXPECT_TRUE(std::equal(some->pixels.begin(), some->pixels.end(), all->pixels.begin()));
}

// The mean image of each class, learnt from the training split, must tell the classes of the test
// split apart, and one sample alone must not be its class's mean.
TEST(Synthetic, CanBeLearntAndIsNoisy) {
  const auto train = *LoadDataset(Spec(), Split::kTrain, 1);
  const auto test = *LoadDataset(Spec(), Split::kTest, 1);
  const size_t bytes = train->shape.bytes();
  std::vector<std::vector<double>> mean(5, std::vector<double>(bytes));
  std::vector<double> count(5);
  for (int64_t i = 0; i < train->size(); ++i) {
    const auto label = static_cast<size_t>(train->labels[static_cast<size_t>(i)]);
    ++count[label];
    for (size_t k = 0; k < bytes; ++k) mean[label][k] += train->sample(i)[k];
  }
  for (size_t c = 0; c < 5; ++c) {
    for (double& value : mean[c]) value /= count[c];
  }
  int right = 0;
  double noise = 0;
  for (int64_t i = 0; i < test->size(); ++i) {
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < 5; ++c) {
      double distance = 0;
      for (size_t k = 0; k < bytes; ++k) {
        const double d = test->sample(i)[k] - mean[c][k];
        distance += d * d;
      }
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    right += static_cast<int>(best) == test->labels[static_cast<size_t>(i)];
    noise += least / static_cast<double>(bytes);
  }
  EXPECT_GE(right, 190);
  EXPECT_GT(noise / static_cast<double>(test->size()), 20 * 20);
}

TEST(Synthetic, ShapesOfOnePixelAndOfOneClassWork) {
  DataSpec spec = Spec();
  spec.shape = {1, 1, 1};
  spec.classes = 1;
  EXPECT_EQ((*LoadDataset(spec, Split::kTrain, 1))->pixels.size(), 600u);
}

TEST(Synthetic, NonsenseIsRefused) {
  const auto refused = [](auto change) {
    DataSpec spec = Spec();
    change(spec);
    return LoadDataset(spec, Split::kTrain, 1).status().code() ==
           absl::StatusCode::kInvalidArgument;
  };
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(refused([](DataSpec& s) { s.shape = {28, 28}; }));
  EXPECT_TRUE(refused([](DataSpec& s) { s.shape = {1, 0, 28}; }));
  EXPECT_TRUE(refused([](DataSpec& s) { s.shape = {1, kHuge, kHuge}; }));
  EXPECT_TRUE(refused([](DataSpec& s) { s.shape = {65536, 65536, 65536}; }));
  EXPECT_TRUE(refused([](DataSpec& s) { s.classes = 0; }));
  EXPECT_TRUE(refused([](DataSpec& s) { s.classes = kHuge; }));
  EXPECT_TRUE(refused([](DataSpec& s) { s.train_samples = 0; }));
  EXPECT_TRUE(refused([](DataSpec& s) { s.train_samples = kHuge; }));
}

}  // namespace
}  // namespace gg
