// SPDX-License-Identifier: Apache-2.0
//
// Errors are absl::Status values everywhere. Context is added once per layer as an error climbs:
//   GG_RETURN_IF_ERROR(Annotate(link.Open(), StrCat("link to rank ", rank)));
// Thread-safety: pure functions.
#ifndef GOSSIPGRAD_CORE_STATUS_H_
#define GOSSIPGRAD_CORE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gg {

// Prefixes the message of an error with `context` and ": "; OK stays OK, the code stays the same.
inline absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace gg

#define GG_STATUS_CONCAT_INNER_(a, b) a##b
#define GG_STATUS_CONCAT_(a, b) GG_STATUS_CONCAT_INNER_(a, b)

#define GG_RETURN_IF_ERROR(expr)                              \
  do {                                                        \
    if (absl::Status gg_status_ = (expr); !gg_status_.ok()) { \
      return gg_status_;                                      \
    }                                                         \
  } while (false)

#define GG_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = (expr);                              \
  if (!result.ok()) return result.status();          \
  lhs = std::move(result).value()

// GG_ASSIGN_OR_RETURN(auto x, MakeX());
#define GG_ASSIGN_OR_RETURN(lhs, expr) \
  GG_ASSIGN_OR_RETURN_IMPL_(GG_STATUS_CONCAT_(gg_statusor_, __LINE__), lhs, expr)

#endif  // GOSSIPGRAD_CORE_STATUS_H_
