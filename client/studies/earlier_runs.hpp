/// State of the runs of an earlier sweep or comparison.
#pragma once

#include <filesystem>
#include <string>

namespace heelstrike::client {

/// The run in this folder is complete and has the same scenario. @param yaml  overrides applied
[[nodiscard]] bool is_done(const std::filesystem::path& run, const std::string& yaml);
/// The run is incomplete, has the same scenario, and has a checkpoint.
[[nodiscard]] bool can_resume(const std::filesystem::path& run, const std::string& yaml);

}  // namespace heelstrike::client
