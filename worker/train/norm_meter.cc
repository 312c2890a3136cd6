// SPDX-License-Identifier: Apache-2.0
#include "worker/train/norm_meter.h"

#include <cmath>

#include "core/status.h"

namespace gg {
namespace {

// Floats measured at a time: small enough to stay in a cache, and to cost no memory worth naming.
constexpr size_t kPiece = 16384;

}  // namespace

absl::StatusOr<std::unique_ptr<NormMeter>> NormMeter::Create(Device& device, Stream& stream,
                                                             ParamArena& arena,
                                                             MetricSink& metrics) {
  std::unique_ptr<NormMeter> meter(new NormMeter(device, stream, arena, metrics));
  GG_ASSIGN_OR_RETURN(meter->zeros_, device.Allocate(kPiece * sizeof(float)));
  GG_RETURN_IF_ERROR(device.Fill(stream, 0, meter->zeros_->floats()));
  return meter;
}

absl::Status NormMeter::AfterStep(uint64_t step) {
  if (step % kNormsEvery != 0) return absl::OkStatus();
  GG_ASSIGN_OR_RETURN(const double gradient, Norm(arena_.gradients()));
  GG_ASSIGN_OR_RETURN(const double parameters, Norm(arena_.weights()));
  GG_ASSIGN_OR_RETURN(const double update, Norm(arena_.momentum()));
  metrics_.Set(GaugeId::kGradNorm, gradient);
  metrics_.Set(GaugeId::kParamNorm, parameters);
  if (parameters > 0) metrics_.Set(GaugeId::kUpdateRatio, update / parameters);
  return absl::OkStatus();
}

absl::StatusOr<double> NormMeter::Norm(ConstFlat values) {
  double sum = 0;
  for (size_t at = 0; at < values.size(); at += kPiece) {
    const ConstFlat piece = values.subspan(at, kPiece);
    GG_ASSIGN_OR_RETURN(
        const double squared,
        device_.SquaredDistance(stream_, piece, zeros_->floats().subspan(0, piece.size())));
    sum += squared;
  }
  return std::sqrt(sum);
}

}  // namespace gg
