#include "fem_server/sessions/cache_directory.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace heelstrike::fem {

namespace fs = std::filesystem;

namespace {

/// PID in "NAME.PID.N.tmp"; 0 for another name.
pid_t writer_of(const fs::path& file) {
  const std::string number = file.stem().stem().extension().string();  // ".PID"
  pid_t pid = 0;
  const char* end = number.data() + number.size();
  if (number.size() < 2) return 0;
  const auto [rest, failure] = std::from_chars(number.data() + 1, end, pid);
  return failure == std::errc() && rest == end ? pid : 0;
}

bool is_orphaned(const fs::directory_entry& entry) {
  constexpr std::chrono::hours max_write_duration{1};
  std::error_code code;
  const pid_t writer = writer_of(entry.path());
  if (entry.path().extension() != ".tmp" || writer <= 0 || !entry.is_regular_file(code)) return false;
  const auto last_write = entry.last_write_time(code);
  if (code) return false;
  const bool is_dead_writer = ::kill(writer, 0) != 0 && errno == ESRCH;
  return is_dead_writer || fs::file_time_type::clock::now() - last_write > max_write_duration;
}

}  // namespace

std::string default_cache_directory() {
  // The XDG base directory specification requires relative paths to be ignored.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/heelstrike";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string(home) + "/.cache/heelstrike";
  }
  return {};
}

OrphanedFiles remove_orphaned_files(const std::string& directory) {
  OrphanedFiles removed;
  std::error_code ignored;  // another process may clean up concurrently; the next start removes the rest
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored)) {
    if (!is_orphaned(*it)) continue;
    std::error_code failure;
    const std::uintmax_t bytes = it->file_size(failure);
    if (failure || !fs::remove(it->path(), failure)) continue;
    ++removed.n;
    removed.bytes += bytes;
  }
  return removed;
}

}  // namespace heelstrike::fem
