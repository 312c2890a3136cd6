// SPDX-License-Identifier: Apache-2.0
//
// The definitions of the layer operations, written down element by element in double precision,
// from the formulae and not from any device.
#ifndef GOSSIPGRAD_TESTS_CONFORMANCE_DEVICE_ORACLE_H_
#define GOSSIPGRAD_TESTS_CONFORMANCE_DEVICE_ORACLE_H_

#include <vector>

#include "kernels/device.h"

namespace gg::oracle {

struct LayerResult {
  std::vector<double> y, dx, dw, db;
};

LayerResult Convolution(const Conv2dDesc& d, ConstFlat x, ConstFlat w, ConstFlat b, ConstFlat dy);
LayerResult Linear(const LinearDesc& d, ConstFlat x, ConstFlat w, ConstFlat b, ConstFlat dy);
LayerResult Pooling(const Pool2dDesc& d, ConstFlat x, ConstFlat dy);  // y and dx

struct BatchNormResult {
  LayerResult layer;  // dw and db are the gradients of gamma and beta
  std::vector<double> running_mean, running_variance;
};
// A training step; the running values are those after it.
BatchNormResult BatchNorm(const BatchNormDesc& d, ConstFlat x, ConstFlat gamma, ConstFlat beta,
                          ConstFlat running_mean, ConstFlat running_variance, ConstFlat dy);

}  // namespace gg::oracle

#endif  // GOSSIPGRAD_TESTS_CONFORMANCE_DEVICE_ORACLE_H_
