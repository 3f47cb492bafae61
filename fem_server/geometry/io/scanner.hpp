/// Scanners for text and binary files that report the position of every error.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/read_mesh.hpp"

namespace heelstrike::fem::io {

/// "NAME, line LINE: MESSAGE" as Error{invalid_input}.
[[noreturn]] void fail_at_line(const std::string& name, std::size_t line, const std::string& message);
/// "NAME, byte OFFSET: MESSAGE" as Error{invalid_input}.
[[noreturn]] void fail_at_byte(const std::string& name, std::size_t offset, const std::string& message);

/// Bytes of a file in printable, shortened form, in quotes.
[[nodiscard]] std::string quoted(std::string_view bytes);

/// Rejects a count above the caller's limit. @param what  e.g. "triangles" @throws Error{limit}
void check_limit(const std::string& name, std::string_view what, std::uint64_t count, std::uint64_t limit);

/// Decimal number; "1.5D+3" (Fortran) is accepted. @return false when `word` is not a number or not finite
[[nodiscard]] bool parse_number(std::string_view word, double& value);
/// @return false when `word` is not an integer or out of range
[[nodiscard]] bool parse_integer(std::string_view word, std::int64_t& value);

[[nodiscard]] bool is_space(char c);
[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] std::string lower_case(std::string_view text);
/// ASCII comparison, case-insensitive.
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);

/// Words and lines of a text. Lines are numbered from 1 and end with LF, CR LF or CR. Every failing call throws
/// Error{invalid_input} at the line of the word or line that was read last.
class Scanner {
 public:
  Scanner(std::string name, std::string_view bytes, std::size_t first_line = 1)
      : name_(std::move(name)), bytes_(bytes), line_(first_line), line_of_last_(first_line) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - offset_; }
  [[nodiscard]] bool at_end() const { return offset_ == bytes_.size(); }

  /// Advances to the next word, across lines, so that line() is its line.
  void skip_blanks();
  /// Next word, across lines; empty at the end.
  std::string_view word();
  /// Next word of the current line; empty at its end.
  std::string_view word_in_line();
  /// Remainder of the current line, trimmed, without its line break; advances to the next line.
  std::string_view remaining_line();
  /// `n` raw bytes. @throws when fewer remain
  std::string_view raw(std::size_t n, std::string_view what);
  /// Returns to `offset` on `line`, both obtained earlier from this scanner.
  void roll_back(std::size_t offset, std::size_t line);

  double number(std::string_view what);
  std::int64_t integer(std::string_view what);
  /// An integer in [0, max].
  std::uint64_t count(std::string_view what, std::uint64_t max = UINT64_MAX / 2);
  Vector3 vector(std::string_view what);

  [[noreturn]] void fail(const std::string& message) const;
  /// "expected WHAT, found 'FOUND'"
  [[noreturn]] void fail_expected(std::string_view what, std::string_view found) const;
  /// Rejects a count that exceeds the capacity of the rest of the file. @throws Error{invalid_input, limit}
  void check_count(std::string_view what, std::uint64_t count, std::uint64_t limit, std::size_t min_bytes_each) const;

 private:
  /// Skips a character and counts the line if it ends one.
  void skip_character();

  std::string name_;
  std::string_view bytes_;
  std::size_t offset_ = 0;
  std::size_t line_;
  std::size_t line_of_last_;  ///< of the word or line that was read last
};

/// Fixed-size values of a binary file.
class ByteReader {
 public:
  ByteReader(std::string name, std::string_view bytes, std::size_t offset, bool big_endian = false)
      : name_(std::move(name)), bytes_(bytes), offset_(offset), big_endian_(big_endian) {}

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - offset_; }

  template <class T>
  T read(std::string_view what) {
    const std::string_view piece = raw(sizeof(T), what);
    std::array<char, sizeof(T)> buffer{};
    for (std::size_t i = 0; i < sizeof(T); ++i) buffer[big_endian_ ? sizeof(T) - 1 - i : i] = piece[i];
    return std::bit_cast<T>(buffer);
  }
  std::string_view raw(std::size_t n, std::string_view what);
  [[noreturn]] void fail(const std::string& message) const { fail_at_byte(name_, offset_, message); }
  void check_count(std::string_view what, std::uint64_t count, std::uint64_t limit, std::size_t bytes_each) const;

 private:
  std::string name_;
  std::string_view bytes_;
  std::size_t offset_;
  bool big_endian_;
};

}  // namespace heelstrike::fem::io
