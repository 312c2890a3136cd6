// SPDX-License-Identifier: Apache-2.0
//
// Values computed once by PyTorch in double precision: scripts/goldens-pytorch writes the files and
// describes them.
#ifndef GOSSIPGRAD_TESTS_NUMERIC_GOLDEN_H_
#define GOSSIPGRAD_TESTS_NUMERIC_GOLDEN_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/device.h"

namespace gg {

// The inputs of the cases, the same numbers as `fill` of the script makes: uniform in -bound ..
// bound.
void Fill(absl::string_view name, float bound, Flat values);
std::vector<float> Filled(absl::string_view name, size_t count, float bound = 1.0f);
// The running values of a batch normalisation before its first batch, as `running_start` makes them.
void FillRunning(const std::string& name, Flat mean, Flat variance);

class Golden {
 public:
  // Reads testdata/<name>.golden; a fatal test failure when it is not there or not readable.
  explicit Golden(const std::string& name);

  // |got - want| <= tolerance * largest |want| at every stored element, and the same for the norm
  // of the whole tensor relative to itself.
  void Expect(const std::string& tensor, ConstFlat got, double tolerance) const;
  double scalar(const std::string& name) const { return tensors_.at(name).values.at(0); }

 private:
  struct Tensor {
    size_t count, stride;
    double norm;
    std::vector<double> values;
  };
  std::map<std::string, Tensor> tensors_;
};

}  // namespace gg

#endif  // GOSSIPGRAD_TESTS_NUMERIC_GOLDEN_H_
