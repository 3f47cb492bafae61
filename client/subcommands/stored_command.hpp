/// The command that has made a folder of several runs, so that it can be given again.
#pragma once

#include <filesystem>

namespace heelstrike::client {

/// Writes command.json into `folder`: the arguments of this program and where it was started. @throws Error{file}
void store_command(const std::filesystem::path& folder);
/// The folder has been made by a command that is remembered.
[[nodiscard]] bool has_command(const std::filesystem::path& folder);
/// Becomes that command, writing into `folder`, wherever that is now, and going on with what is there. Does not return.
/// @throws Error{file} when there is none or it cannot be given again
[[noreturn]] void repeat_command(const std::filesystem::path& folder);

}  // namespace heelstrike::client
