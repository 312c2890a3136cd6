// SPDX-License-Identifier: Apache-2.0
#include "tests/numeric/golden.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "gtest/gtest.h"

namespace gg {
namespace {

uint32_t Mix(uint32_t x) {
  for (int round = 0; round < 2; ++round) x = (x ^ (x >> 16)) * 0x45D9F3Bu;
  return x ^ (x >> 16);
}

}  // namespace

void Fill(absl::string_view name, float bound, Flat values) {
  uint32_t salt = 2166136261u;
  for (const char c : name) salt = (salt ^ static_cast<unsigned char>(c)) * 16777619u;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = Mix(static_cast<uint32_t>(i) * 2654435761u + salt) >> 8;
    values[i] = bound * (2.0f * (static_cast<float>(bits) / 16777216.0f) - 1.0f);
  }
}

std::vector<float> Filled(absl::string_view name, size_t count, float bound) {
  std::vector<float> values(count);
  Fill(name, bound, absl::MakeSpan(values));
  return values;
}

void FillRunning(const std::string& name, Flat mean, Flat variance) {
  Fill(name + ".running_mean", 1.0f, mean);
  Fill(name + ".running_variance", 0.5f, variance);
  for (float& v : variance) v += 1.0f;
}

Golden::Golden(const std::string& name) {
  const std::string path = std::string(GG_TESTDATA) + "/" + name + ".golden";
  std::ifstream file(path);
  std::string line, word;
  if (!std::getline(file, line) || line != "case " + name) {
    ADD_FAILURE() << path << ": missing, or not the case " << name
                  << "; scripts/goldens-pytorch writes it";
    return;
  }
  while (std::getline(file, line)) {
    std::istringstream in(line);
    Tensor tensor;
    in >> word >> tensor.count >> tensor.stride >> tensor.norm;
    for (double value; in >> value;) tensor.values.push_back(value);
    if (!in.eof() || tensor.stride == 0 ||
        tensor.values.size() != (tensor.count + tensor.stride - 1) / tensor.stride) {
      ADD_FAILURE() << path << ": " << word << " does not have the values that its line promises";
    }
    tensors_[word] = std::move(tensor);
  }
}

void Golden::Expect(const std::string& name, ConstFlat got, double tolerance) const {
  const auto found = tensors_.find(name);
  ASSERT_NE(found, tensors_.end()) << "no golden tensor " << name;
  const Tensor& want = found->second;
  ASSERT_EQ(got.size(), want.count) << name;
  double scale = 0, squares = 0;
  for (const double v : want.values) scale = std::max(scale, std::abs(v));
  for (const float v : got) squares += static_cast<double>(v) * v;
  for (size_t i = 0; i < want.values.size(); ++i) {
    const double value = got[i * want.stride];
    if (!(std::abs(value - want.values[i]) <= tolerance * scale)) {  // written so that NaN fails
      ADD_FAILURE() << name << "[" << i * want.stride << "] is " << value << ", PyTorch has "
                    << want.values[i] << ", allowed difference " << tolerance * scale;
      return;
    }
  }
  EXPECT_NEAR(std::sqrt(squares), want.norm, tolerance * want.norm) << "norm of " << name;
}

}  // namespace gg
