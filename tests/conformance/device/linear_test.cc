// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/device/devices.h"
#include "tests/conformance/device/oracle.h"

namespace gg {
namespace {

constexpr double kTolerance = 2e-5;

class LinearTest : public DeviceTest {};
GG_FOR_ALL_DEVICES(LinearTest);

TEST_P(LinearTest, MatchesTheDefinition) {
  const LinearDesc descs[] = {{1, 1, 1},      {1, 7, 3},     {3, 1, 5},    {5, 13, 1},
                              {64, 800, 500}, {64, 500, 10}, {17, 33, 31}, {1, 784, 512}};
  for (const LinearDesc& d : descs) {
    SCOPED_TRACE(testing::Message() << d.batch << "x" << d.in_features << "x" << d.out_features);
    auto op = device().MakeLinear(d);
    ASSERT_TRUE(op.ok()) << op.status();
    const auto x = Random(d.batch * d.in_features, "x"),
               w = Random(d.out_features * d.in_features, "w");
    const auto b = Random(d.out_features, "b"), dy = Random(d.batch * d.out_features, "dy");
    std::vector<float> y(dy.size(), 7.0f), dx(x.size(), 7.0f), dw(w.size(), 7.0f),
        db(b.size(), 7.0f);
    const auto want = oracle::Linear(d, x, w, b, dy);
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE((*op)->Forward(stream(), x, w, b, absl::MakeSpan(y)).ok());
      ASSERT_TRUE((*op)->BackwardData(stream(), dy, w, absl::MakeSpan(dx)).ok());
      ASSERT_TRUE(
          (*op)->BackwardParams(stream(), x, dy, absl::MakeSpan(dw), absl::MakeSpan(db)).ok());
      ExpectClose(y, want.y, kTolerance, "y");
      ExpectClose(dx, want.dx, kTolerance, "dx");
      ExpectClose(dw, want.dw, kTolerance, "dw");
      ExpectClose(db, want.db, kTolerance, "db");
    }
  }
}

}  // namespace
}  // namespace gg
