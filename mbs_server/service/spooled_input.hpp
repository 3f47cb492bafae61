/// What was submitted, as the spool keeps it: who goes on with a run after the death of its server starts from it.
///
/// A first line with the digest of the submission, then SubmitRunRequest messages as they came, each preceded by its
/// length as a varint.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "heelstrike/v1/simulation.pb.h"

namespace heelstrike::mbs {

/// The file is there in full or not at all. @throws Error{file}
void write_spooled_input(const std::filesystem::path& file, const std::string& digest,
                         const v1::SubmitRunRequest::Header& header, std::span<const AssetContent> files);
/// The first line; empty when there is none.
[[nodiscard]] std::string digest_of_spooled_input(const std::filesystem::path& file);
/// Hands on message by message, until one is refused with false. @throws Error{file} for a file that is damaged
void read_spooled_input(const std::filesystem::path& file, const std::function<bool(v1::SubmitRunRequest&)>& take);

}  // namespace heelstrike::mbs
