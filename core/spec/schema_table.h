// SPDX-License-Identifier: Apache-2.0
//
// The data behind core/spec/schema.h; include that one instead.
// Thread-safety: immutable data.
#ifndef GOSSIPGRAD_CORE_SPEC_SCHEMA_TABLE_H_
#define GOSSIPGRAD_CORE_SPEC_SCHEMA_TABLE_H_

#include <vector>

#include "core/spec/schema.h"

namespace gg::internal {

const std::vector<Field>& FieldTable();
const std::vector<Section>& SectionTable();

}  // namespace gg::internal

#endif  // GOSSIPGRAD_CORE_SPEC_SCHEMA_TABLE_H_
