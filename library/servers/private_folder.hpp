/// A folder for the sockets and the spool of servers that this client starts.
///
/// Named heelstrike-PID-RANDOM below $XDG_RUNTIME_DIR (if it is a folder of this user) or /tmp, permissions 0700. The
/// client holds a lock on a file in it during its lifetime; a folder without a lock belongs to a client that was
/// killed, and the next client removes it.
#pragma once

#include <filesystem>
#include <string>

namespace heelstrike {

class PrivateFolder {
 public:
  /// Removes the folders of ended clients, then makes a new one. @throws Error{file}
  PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  /// Removes the folder and its content.
  ~PrivateFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Path of a socket in the folder. @throws Error{file} when it exceeds the length of a socket address (107 bytes)
  [[nodiscard]] std::filesystem::path socket(const std::string& name) const;

 private:
  std::filesystem::path path_;
  int lock_file_ = -1;
};

/// $XDG_RUNTIME_DIR when it is an existing folder that belongs to this user and is short enough for sockets, else /tmp.
[[nodiscard]] std::filesystem::path runtime_directory();

/// Removes the private folders below `base` whose clients have ended. @returns their number
std::size_t remove_stale_folders(const std::filesystem::path& base);

}  // namespace heelstrike
