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

}  // namespace gg::oracle

#endif  // GOSSIPGRAD_TESTS_CONFORMANCE_DEVICE_ORACLE_H_
