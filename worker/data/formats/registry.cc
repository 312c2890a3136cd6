// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/status.h"
#include "worker/data/formats/formats.h"

namespace gg {
namespace {

struct Format {
  absl::string_view name;
  absl::StatusOr<Dataset> (*load)(const DataSpec&, Split, uint64_t seed);
};

// To add a format: a function in formats.h, its own .cc file, a line here.
constexpr Format kFormats[] = {
    {"idx", LoadIdx},
    {"cifar10", LoadCifar10},
    {"cifar100", LoadCifar100},
    {"synthetic", MakeSynthetic},
};

absl::Status Check(const DataSpec& spec) {
  if (spec.limit_train < 0 || spec.limit_test < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.limit_train and data.limit_test must not be negative (0: all); they are ",
        spec.limit_train, " and ", spec.limit_test));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Dataset>> LoadDataset(const DataSpec& spec, Split split,
                                                           uint64_t seed) {
  GG_RETURN_IF_ERROR(Check(spec));
  const absl::string_view what = split == Split::kTrain ? "training data" : "test data";
  std::string known;
  for (const Format& format : kFormats) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", format.name);
    if (format.name != spec.format) continue;
    try {
      absl::StatusOr<Dataset> loaded = format.load(spec, split, seed);
      if (!loaded.ok()) return Annotate(loaded.status(), what);
      return std::make_shared<const Dataset>(*std::move(loaded));
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(absl::StrCat(
          what, " of format ", spec.format,
          ": not enough memory to hold all samples; set data.limit_train and data.limit_test"));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("data.format '", spec.format, "' is unknown; choose one of ", known));
}

}  // namespace gg
