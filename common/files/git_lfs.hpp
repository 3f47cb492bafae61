/// Pointer files of Git LFS, which a checkout without Git LFS has in place of large files.
#pragma once

#include <string_view>

namespace heelstrike {

[[nodiscard]] inline bool is_git_lfs_pointer(std::string_view bytes) {
  constexpr std::size_t max_pointer_bytes = 1024;  // of the specification
  return bytes.size() < max_pointer_bytes && bytes.starts_with("version https://git-lfs.github.com/spec/v1");
}

/// What was found and what to do, for messages.
inline constexpr std::string_view git_lfs_remedy =
    "a pointer of Git LFS instead of the content; fetch it with `git lfs pull` in the folder of its repository";

}  // namespace heelstrike
