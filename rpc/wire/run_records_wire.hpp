/// Records of a run <-> messages of simulation.proto; exact in both directions. `from_proto` throws
/// Error{invalid_input} with the field for a number that is not finite, a missing part, a checkpoint of another format.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/results/run_records.hpp"
#include "heelstrike/v1/simulation.pb.h"
#include "rpc/wire/field_path.hpp"

namespace heelstrike::wire {

/// Format of a Checkpoint message.
inline constexpr std::uint32_t checkpoint_format = 1;

void to_proto(std::span<const Column> from, v1::TableSchema& to);
void to_proto(const Progress& from, v1::Progress& to);
void to_proto(const ContactEpisode& from, v1::ContactEpisode& to);
void to_proto(const Checkpoint& from, v1::Checkpoint& to);
void to_proto(const RunSummary& from, v1::RunSummary& to);
void to_proto(const FieldFrame& from, v1::FieldFrame& to);

[[nodiscard]] std::vector<Column> from_proto(const v1::TableSchema& from, const FieldPath& path);
[[nodiscard]] Progress from_proto(const v1::Progress& from, const FieldPath& path);
[[nodiscard]] ContactEpisode from_proto(const v1::ContactEpisode& from, const FieldPath& path);
[[nodiscard]] Checkpoint from_proto(const v1::Checkpoint& from, const FieldPath& path);
/// A checkpoint as bytes of its message, and back. @throws also for invalid bytes
[[nodiscard]] std::string checkpoint_bytes(const Checkpoint& from);
[[nodiscard]] Checkpoint checkpoint_from(std::string_view bytes, const FieldPath& path);
[[nodiscard]] RunSummary from_proto(const v1::RunSummary& from, const FieldPath& path);
[[nodiscard]] FieldFrame from_proto(const v1::FieldFrame& from, const FieldPath& path);

}  // namespace heelstrike::wire
