/// Surfaces as peers before version 0.2 send them: one message for each of the seven kinds that there were. Read, never
/// written, and not extended: new kinds travel as `ContactBody.shape` only.
#pragma once

#include "common/contact/surface.hpp"
#include "rpc/wire/field_path.hpp"
#include "heelstrike/v1/contact.pb.h"

namespace heelstrike::wire {

/// Values are not checked yet. @throws Error{invalid_input} when there is no surface
[[nodiscard]] Surface surface_from_oneof(const v1::ContactBody& from, const FieldPath& path);

}  // namespace heelstrike::wire
