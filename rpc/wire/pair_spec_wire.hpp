/// What opens a contact pair, and how the server describes it <-> messages.
///
/// Beyond finite numbers, `from_proto` refuses what no back-end accepts: a missing surface, one whose values its kind
/// does not accept (scenario/surfaces), material constants out of range. Directions are normalised on receipt unless they
/// already are.
#pragma once

#include "common/contact/contact.hpp"
#include "common/contact/surface.hpp"
#include "rpc/wire/field_path.hpp"
#include "heelstrike/v1/contact.pb.h"

namespace heelstrike::wire {

void to_proto(const PairSpec& from, v1::PairSpec& to);
[[nodiscard]] PairSpec from_proto(const v1::PairSpec& from, const FieldPath& path);

/// Session id and idle timeout are the service's business and stay untouched.
void to_proto(const PairDescription& from, v1::SessionDescription& to);
[[nodiscard]] PairDescription from_proto(const v1::SessionDescription& from, const FieldPath& path);

}  // namespace heelstrike::wire
