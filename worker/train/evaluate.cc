// SPDX-License-Identifier: Apache-2.0
#include "worker/train/evaluate.h"

#include <algorithm>
#include <vector>

#include "core/status.h"
#include "worker/data/batch_source.h"

namespace gg {

absl::StatusOr<Score> Evaluate(Network& network, const Dataset& data, ShardRange range, double mean,
                               double stddev, absl::FunctionRef<absl::Status()> may_continue) {
  constexpr int64_t kPiece = 256;  // samples
  const auto sample_bytes = static_cast<int64_t>(data.shape.bytes());
  const auto pixels = absl::MakeConstSpan(data.pixels);
  const auto labels = absl::MakeConstSpan(data.labels);
  std::vector<float> x(static_cast<size_t>(std::min(kPiece, range.count) * sample_bytes));
  Score score;
  while (score.samples < range.count) {
    GG_RETURN_IF_ERROR(may_continue());
    const int64_t first = range.first + score.samples;
    const int64_t count = std::min(kPiece, range.count - score.samples);
    const auto floats = static_cast<size_t>(count * sample_bytes);
    NormalizePixels(pixels.subspan(static_cast<size_t>(first * sample_bytes), floats), mean, stddev,
                    absl::MakeSpan(x).subspan(0, floats));
    GG_ASSIGN_OR_RETURN(
        const LossResult piece,
        network.Evaluate(absl::MakeConstSpan(x).subspan(0, floats),
                         labels.subspan(static_cast<size_t>(first), static_cast<size_t>(count))));
    score.samples += count;
    score.correct += piece.correct;
    score.loss_sum += piece.loss_sum;
  }
  return score;
}

}  // namespace gg
