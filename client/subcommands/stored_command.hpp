/// The command that created a folder of several runs, stored for repetition.
#pragma once

#include <filesystem>
#include <string>

namespace heelstrike::client {

/// Writes command.json into `folder`: the arguments of this program and its working folder. @throws Error{file}
void store_command(const std::filesystem::path& folder);
/// The folder has a stored command.
[[nodiscard]] bool has_command(const std::filesystem::path& folder);
/// Replaces this process by that command, with output to `folder` at its current location, which continues existing
/// runs. Does not return. @throws Error{file} when no command is stored or it cannot be repeated
[[noreturn]] void repeat_command(const std::filesystem::path& folder);

// State of the runs of an earlier sweep or comparison.

/// The run in this folder is complete and has the same scenario. @param yaml  overrides applied
[[nodiscard]] bool is_done(const std::filesystem::path& run, const std::string& yaml);
/// The run is incomplete, has the same scenario, and has a checkpoint.
[[nodiscard]] bool can_resume(const std::filesystem::path& run, const std::string& yaml);

}  // namespace heelstrike::client
