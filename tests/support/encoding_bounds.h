// SPDX-License-Identifier: Apache-2.0
//
// What the tests of encodings share: how much an encoding may lose, from docs/algorithms/encodings.md, and models as
// vectors of doubles.
//
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_TESTS_SUPPORT_ENCODING_BOUNDS_H_
#define GOSSIPGRAD_TESTS_SUPPORT_ENCODING_BOUNDS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace gg {

// Of float against double arithmetic in one step, on values below 4.
inline constexpr double kFloat = 4e-6;

using Vector = std::vector<double>;   // [arena place]
using Vectors = std::vector<Vector>;  // [rank]

// A name as gtest wants it.
inline std::string Plain(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

inline Vector Doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// What one encoding loses of a value at most, as a share of the value itself (bf16, fp16) or of the largest of its
// block (int8).
inline double LossOf(const std::string& encoding) {
  if (encoding == "bf16") return std::exp2(-8);   // half a unit of 8 bits
  if (encoding == "fp16") return std::exp2(-11);  // of 11; what is subnormal lies below kFloat
  if (encoding == "int8") return 2.0 / 127;       // one step
  return 0;
}

// What is lost at most of each value of the message that `model` is from `begin` on, `count` long.
inline Vector LossesOf(const std::string& encoding, const Vector& model, size_t begin,
                       size_t count) {
  constexpr size_t kBlock = 64;
  Vector losses(count);
  for (size_t i = 0; i < count; ++i) {
    double largest = std::abs(model[begin + i]);
    if (encoding == "int8") {
      const size_t end = std::min(count, i - i % kBlock + kBlock);
      for (size_t j = i - i % kBlock; j < end; ++j) {
        largest = std::max(largest, std::abs(model[begin + j]));
      }
    }
    losses[i] = LossOf(encoding) * largest;
  }
  return losses;
}

// How far from the true mean a collective's may lie, where no worker's value is larger than `largest`. A partial sum of
// m of the p values, each divided by p, is rounded with a loss of at most m / p. Ring: m = 1 .. p. Halving: a tree,
// whose p - 1 edges have m = 1, .., and the end. Doubling: each of log2 p levels has sums that make the whole together.
// Folding adds a level and the end one more. Whatever is rounded has grown by earlier losses: the factor.
inline double CollectiveBound(const std::string& encoding, int size, double largest) {
  const double loss = LossOf(encoding);
  const double levels = std::max(size / 2.0 + 0.5, std::log2(size) + 1) + 1;
  return loss * levels * largest * std::pow(1 + loss, 2.0 * size);
}

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_SUPPORT_ENCODING_BOUNDS_H_
