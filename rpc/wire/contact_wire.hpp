/// One contact evaluation <-> messages: the hot path. Errors and in-place writing as in spatial_wire.hpp.
#pragma once

#include "common/contact/contact.hpp"
#include "heelstrike/v1/contact.pb.h"
#include "rpc/wire/field_path.hpp"

namespace heelstrike::wire {

void to_proto(const PairState& from, v1::PairState& to);
/// @pre from.known
void to_proto(const GapBound& from, v1::GapBound& to);
void from_proto(const v1::GapBound& from, GapBound& to, const FieldPath& path);
void to_proto(const ContactPoint& from, v1::ContactPoint& to);
void from_proto(const v1::ContactPoint& from, ContactPoint& to, const FieldPath& path);
void to_proto(const RegionLoad& from, v1::RegionLoad& to);
void from_proto(const v1::RegionLoad& from, RegionLoad& to, const FieldPath& path);
/// @param with_tangents  false = they are unset, like zero tangents
void to_proto(const Response& from, v1::ContactResult& to, bool with_tangents = true);

void from_proto(const v1::PairState& from, PairState& to, const FieldPath& path);
void from_proto(const v1::ContactResult& from, Response& to, const FieldPath& path);

/// Does not change session and state.
void to_proto(const FieldRequest& from, v1::GetFieldsRequest& to);
[[nodiscard]] FieldRequest from_proto(const v1::GetFieldsRequest& from, const FieldPath& path);

/// Result or the error of one pair. @throws RecoverableError or Error of the peer
void from_proto(const v1::PairResponse& from, Response& to, const FieldPath& path);

}  // namespace heelstrike::wire
