// SPDX-License-Identifier: Apache-2.0
//
// Texts that tests compare whole. After a wanted change: GG_UPDATE_GOLDENS=1 TEST writes them anew;
// read the diff. Thread-safety: none needed.
#ifndef GOSSIPGRAD_TESTS_UNIT_GGCTL_GOLDEN_H_
#define GOSSIPGRAD_TESTS_UNIT_GGCTL_GOLDEN_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace gg {

inline std::string Slurp(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void ExpectGolden(const std::string& path, const std::string& actual) {
  if (std::getenv("GG_UPDATE_GOLDENS") != nullptr) std::ofstream(path) << actual;
  EXPECT_EQ(actual, Slurp(path)) << path;
}

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_UNIT_GGCTL_GOLDEN_H_
