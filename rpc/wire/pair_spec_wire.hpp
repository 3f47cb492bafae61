/// Specification of a contact pair and its description by the server <-> messages.
///
/// In addition to numbers that are not finite, `from_proto` rejects input that no back-end accepts: a missing surface,
/// invalid values of its kind (scenario/surfaces), material constants out of range. Directions are normalised on
/// receipt unless they already are.
#pragma once

#include "common/contact/contact.hpp"
#include "common/contact/surface.hpp"
#include "heelstrike/v1/contact.pb.h"
#include "rpc/wire/field_path.hpp"

namespace heelstrike::wire {

void to_proto(const PairSpec& from, v1::PairSpec& to);
[[nodiscard]] PairSpec from_proto(const v1::PairSpec& from, const FieldPath& path);

/// Does not change session id and idle timeout, which the service sets.
void to_proto(const PairDescription& from, v1::SessionDescription& to);
[[nodiscard]] PairDescription from_proto(const v1::SessionDescription& from, const FieldPath& path);

}  // namespace heelstrike::wire
