#include "common/files/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike {

namespace {

constexpr const char* temporary_extension = ".part";

}  // namespace

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(errno);
}

OutputFile::OutputFile(std::filesystem::path path, std::uint64_t n_bytes) : path_(std::move(path)), size_(n_bytes) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) fail(errno);
  if (static_cast<std::uint64_t>(info.st_size) < n_bytes) {
    throw file_error(path_.string(),
                     fmt::format("{}: expected at least {} bytes to append to, found {}; another program truncated it",
                                 path_.string(), n_bytes, info.st_size));
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(n_bytes)) != 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  const std::size_t whole = bytes.size();
  size_ += whole;
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int code = errno;
      struct stat info {};  // removes the partial row; a pipe or a device cannot be truncated
      if (bytes.size() < whole && ::fstat(descriptor_, &info) == 0)
        (void)!::ftruncate(descriptor_, info.st_size - static_cast<off_t>(whole - bytes.size()));
      fail(code);
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void OutputFile::sync() {
  // Devices and pipes cannot be synchronised and need not be.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
}

void OutputFile::close() {
  sync();
  const int result = ::close(descriptor_);
  descriptor_ = -1;
  if (result != 0) fail(errno);
}

void OutputFile::fail(int error_number) const {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  throw file_error(path_.string(), fmt::format("{}: expected to write this file, found: {}; {}", path_.string(),
                                               std::generic_category().message(error_number),
                                               full ? "free space or choose another folder with --output"
                                                    : "choose a folder that you may write to with --output"));
}

void write_whole_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& write) {
  // Of this process: two may write one file, e.g. the table of a sweep that both follow.
  const std::filesystem::path temporary = std::filesystem::path(path) +=
      fmt::format(".{}{}", ::getpid(), temporary_extension);
  try {
    OutputFile file(temporary);
    write(file);
    file.close();
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
      throw file_error(path.string(), fmt::format("{}: expected to rename {} to it, found: {}", path.string(),
                                                  temporary.string(), std::generic_category().message(errno)));
    }
  } catch (...) {
    // The remainder would occupy space on a full disk.
    ::unlink(temporary.c_str());
    throw;
  }
}

void write_whole_file(const std::filesystem::path& path, std::string_view bytes) {
  write_whole_file(path, [bytes](OutputFile& file) { file.write(bytes); });
}

void remove_temporary_files(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::vector<std::filesystem::path> left;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().extension() == temporary_extension) left.push_back(entry->path());
  }
  for (const auto& file : left) std::filesystem::remove(file, ignored);
}

std::ifstream open_regular_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  // The opening of a pipe would wait for its writer.
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::regular) {
    throw file_error(path.string(), fmt::format("{}: expected a file, found a folder, a pipe or a device; check the "
                                                "path",
                                                path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw file_error(path.string(), fmt::format("{}: expected a readable file, found: {}; check the path",
                                                path.string(), std::generic_category().message(errno)));
  }
  return file;
}

std::string read_whole_file(const std::filesystem::path& path) {
  std::ifstream file = open_regular_file(path);
  std::string bytes, block(1U << 16U, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0)
    bytes.append(block, 0, static_cast<std::size_t>(file.gcount()));
  if (file.bad()) throw file_error(path.string(), fmt::format("{}: reading failed before the end", path.string()));
  return bytes;
}

std::string last_line(const std::filesystem::path& path) {
  std::error_code ignored;
  std::string text = std::filesystem::exists(path, ignored) ? read_whole_file(path) : "";
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

std::string plain_name(std::string text) {
  for (char& c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  return text;
}

}  // namespace heelstrike
