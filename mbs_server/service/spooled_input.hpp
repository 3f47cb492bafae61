/// Submissions stored in the spool, from which runs are resumed after termination of their server.
///
/// A first line with the digest of the submission, then SubmitRunRequest messages as received, each preceded by its
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

/// Writes the file atomically. @throws Error{file}
void write_spooled_input(const std::filesystem::path& file, const std::string& digest,
                         const v1::SubmitRunRequest::Header& header, std::span<const AssetContent> files);
/// The first line; empty if there is none.
[[nodiscard]] std::string digest_of_spooled_input(const std::filesystem::path& file);
/// Passes the messages in sequence until the callback returns false. @throws Error{file} for a damaged file
void read_spooled_input(const std::filesystem::path& file, const std::function<bool(v1::SubmitRunRequest&)>& take);

}  // namespace heelstrike::mbs
