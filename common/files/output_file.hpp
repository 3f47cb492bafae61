/// An output file with checked writes: a full disk raises an error immediately and leaves no short file.
///
/// File names from names of pairs and bodies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

namespace heelstrike {

class OutputFile {
 public:
  /// Creates or empties the file. @throws Error{file}
  explicit OutputFile(std::filesystem::path path);
  /// Appends to an existing file after its first `n_bytes`; the rest is truncated.
  /// @throws Error{file}, also for a file that is shorter
  OutputFile(std::filesystem::path path, std::uint64_t n_bytes);
  /// Closes without a check: the file of an abandoned run.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Passes all bytes to the operating system; they survive a crash of this process.
  /// @throws Error{file}; a partial write is rolled back
  void write(std::string_view bytes);
  /// Synchronises the bytes to disk. @throws Error{file}
  void sync();
  /// Synchronises and closes. @throws Error{file}
  void close();

  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[noreturn]] void fail(int error_number) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Writes `bytes` to a temporary name beside `path` and renames it: the file is complete or absent. @throws Error{file}
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);
/// The same with several writes.
void write_whole_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& write);
/// Removes temporary files in `folder` that killed writers left behind.
void remove_temporary_files(const std::filesystem::path& folder);

/// Opens for reading. @throws Error{file}, also for pipes and devices, from which reading might never end
[[nodiscard]] std::ifstream open_regular_file(const std::filesystem::path& path);
/// @throws Error{file} as open_regular_file()
[[nodiscard]] std::string read_whole_file(const std::filesystem::path& path);
/// The last line that is not empty; empty for a missing file.
[[nodiscard]] std::string last_line(const std::filesystem::path& path);

/// Letters, digits, '-' and '.' are kept, everything else becomes '_', because names of pairs and bodies allow more
/// characters than some file systems.
[[nodiscard]] std::string plain_name(std::string text);

}  // namespace heelstrike
