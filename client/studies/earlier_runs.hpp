/// What an earlier sweep or comparison has left in its folder.
#pragma once

#include <filesystem>
#include <string>

namespace heelstrike::client {

/// The run in this folder is complete, and of the very scenario. @param yaml  overrides applied
[[nodiscard]] bool is_done(const std::filesystem::path& run, const std::string& yaml);
/// It was cut off, is of the very scenario, and has a checkpoint to go on from.
[[nodiscard]] bool can_resume(const std::filesystem::path& run, const std::string& yaml);

}  // namespace heelstrike::client
