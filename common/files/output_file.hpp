/// A file being written, every write checked: a full disk is an error where it happens, never a short file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace heelstrike {

class OutputFile {
 public:
  /// Creates or empties the file. @throws Error{file}
  explicit OutputFile(std::filesystem::path path);
  /// Goes on in a file that exists, behind its first `n_bytes`; what follows them is dropped.
  /// @throws Error{file}, also for a file that is shorter
  OutputFile(std::filesystem::path path, std::uint64_t n_bytes);
  /// Closes without checking: the file of an abandoned run.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Hands all bytes to the operating system: they survive the death of this process.
  /// @throws Error{file}; what was written of them is taken back
  void write(std::string_view bytes);
  /// Brings the bytes to the disk. @throws Error{file}
  void sync();
  /// The same, and closes. @throws Error{file}
  void close();
  /// Bytes in the file.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[noreturn]] void fail(int error_number) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Writes `bytes` to a temporary name beside `path` and renames: the file is there in full or not at all. @throws
/// Error{file}
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);
/// The same for what is written piece by piece.
void write_whole_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& write);
/// Removes what writers that were killed left in `folder` under temporary names.
void remove_temporary_files(const std::filesystem::path& folder);

/// @throws Error{file}
[[nodiscard]] std::string read_whole_file(const std::filesystem::path& path);

}  // namespace heelstrike
