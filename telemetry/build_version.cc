// SPDX-License-Identifier: Apache-2.0
#include "telemetry/build_version.h"

namespace gg {

absl::string_view SoftwareVersion() {
  return GG_VERSION;
}

absl::string_view CompilerVersion() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "GNU " __VERSION__;
#endif
}

}  // namespace gg
