// SPDX-License-Identifier: Apache-2.0
#include "model/ops/pooling.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "model/ops/inputs.h"

namespace gg::model {
namespace {

// A window with nothing but padding has neither maximum nor mean. With less padding than the window reaches, the outermost
// windows touch the image; one with holes must not step over all of it.
absl::Status CheckTouches(const Window& window, const Shape& in) {
  for (int d = 0; d < 2; ++d) {
    const int64_t reach = Reach(window, d), size = in[2 + d];
    for (const int64_t pad : {window.pad[d], window.pad[d + 2]}) {
      if (pad >= reach) {
        return Refused("a padding of ", pad, " leaves windows of ", reach,
                       " outside the image: use at most ", reach - 1);
      }
      if (pad > 0 && window.dilation[d] > size) {
        return Refused("a dilation of ", window.dilation[d], " steps over an image of ", size,
                       ": use at most ", size);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpDesc> Pool::Describe(absl::Span<const Shape> inputs) const {
  GG_RETURN_IF_ERROR(CheckImages(inputs));
  const Shape& in = inputs[0];
  OpDesc desc;
  if (options.global) {
    desc.outputs = {{in[0], in[1], 1, 1}};
    return desc;
  }
  GG_ASSIGN_OR_RETURN(const auto out, OutputSize(options.window, in[2], in[3]));
  GG_RETURN_IF_ERROR(CheckTouches(options.window, in));
  desc.outputs = {{in[0], in[1], out[0], out[1]}};
  GG_RETURN_IF_ERROR(CheckShape(desc.outputs[0], "its output"));
  return desc;
}

std::string Pool::Text() const {
  const char* kind = options.kind == PoolOptions::kMax ? "maximum" : "mean";
  if (options.global) return absl::StrCat(kind, " of the image");
  return absl::StrCat(kind, " of ", ToString(options.window),
                      options.count_include_pad ? ", padding counts" : "");
}

}  // namespace gg::model
