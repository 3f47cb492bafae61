#include "library/servers/private_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "heelstrike-";
constexpr const char* lock_name = "lock";
constexpr std::size_t max_socket_path = sizeof(sockaddr_un::sun_path) - 1;  // 107 bytes on Linux
// Longest name below the base: "heelstrike-<pid>-XXXXXX/fem.sock.messages".
constexpr std::size_t space_for_names = 48;

std::optional<pid_t> owner_of(const std::string& folder_name) {
  if (!folder_name.starts_with(prefix)) return std::nullopt;
  pid_t pid = 0;
  const char* end = folder_name.data() + folder_name.size();
  const auto [rest, failure] = std::from_chars(folder_name.data() + prefix.size(), end, pid);
  if (failure != std::errc() || rest == end || *rest != '-') return std::nullopt;
  return pid;
}

bool is_owned_by_user(const fs::path& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

// The kernel releases a lock when its owner ends. Between the creation of the folder and that of the lock, the process
// number of the owner decides.
bool is_stale(const fs::path& folder, pid_t owner) {
  const int lock = ::open((folder / lock_name).c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return ::kill(owner, 0) != 0 && errno == ESRCH;
  const bool is_free = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return is_free && ::kill(owner, 0) != 0 && errno == ESRCH;
}

}  // namespace

fs::path runtime_directory() {
  const char* given = std::getenv("XDG_RUNTIME_DIR");
  if (given != nullptr && *given == '/') {
    fs::path folder(given);
    if (is_owned_by_user(folder) && ::access(given, W_OK | X_OK) == 0 &&
        folder.string().size() + space_for_names <= max_socket_path) {
      return folder;
    }
  }
  return "/tmp";
}

std::size_t remove_stale_folders(const fs::path& base) {
  std::size_t n_removed = 0;
  std::error_code ignored;  // another client may remove folders at the same time; the next start removes the rest
  for (fs::directory_iterator it(base, ignored), end; !ignored && it != end; it.increment(ignored)) {
    const auto owner = owner_of(it->path().filename().string());
    if (!owner || !is_owned_by_user(it->path()) || !is_stale(it->path(), *owner)) continue;
    std::error_code failure;
    fs::remove_all(it->path(), failure);
    if (!failure) ++n_removed;
  }
  return n_removed;
}

PrivateFolder::PrivateFolder() {
  const fs::path base = runtime_directory();
  remove_stale_folders(base);
  std::string name = (base / fmt::format("{}{}-XXXXXX", prefix, ::getpid())).string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw file_error(base.string(), fmt::format("cannot make a private folder for the servers' sockets in {}: {}",
                                                base.string(), std::generic_category().message(errno)));
  }
  path_ = name;
  lock_file_ = ::open((path_ / lock_name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock_file_ < 0 || ::flock(lock_file_, LOCK_EX | LOCK_NB) != 0) {
    throw file_error(
        name, fmt::format("cannot lock the private folder {}: {}", name, std::generic_category().message(errno)));
  }
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;  // the next start removes the rest
  fs::remove_all(path_, ignored);
  ::close(lock_file_);
}

fs::path PrivateFolder::socket(const std::string& name) const {
  fs::path path = path_ / name;
  if (path.string().size() > max_socket_path) {
    throw file_error(path.string(), fmt::format("socket path {} has {} bytes, the maximum is {}; set "
                                                "XDG_RUNTIME_DIR to a folder with a shorter path",
                                                path.string(), path.string().size(), max_socket_path));
  }
  return path;
}

}  // namespace heelstrike
