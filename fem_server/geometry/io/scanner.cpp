#include "fem_server/geometry/io/scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "common/errors/error.hpp"

namespace heelstrike::fem::io {

void fail_at_line(const std::string& name, std::size_t line, const std::string& message) {
  throw input_error(name, fmt::format("{}, line {}: {}", name, line, message));
}

void fail_at_byte(const std::string& name, std::size_t offset, const std::string& message) {
  throw input_error(name, fmt::format("{}, byte {}: {}", name, offset, message));
}

std::string quoted(std::string_view bytes) {
  constexpr std::size_t longest = 40;
  std::string text = "'";
  for (const char c : bytes.substr(0, longest)) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text + (bytes.size() > longest ? "...'" : "'");
}

void check_limit(const std::string& name, std::string_view what, std::uint64_t count, std::uint64_t limit) {
  if (count <= limit) return;
  throw limit_error(name, fmt::format("{}: {} {} exceed the limit of {}; use a coarser mesh or a higher limit", name,
                                      count, what, limit));
}

bool parse_number(std::string_view word, double& value) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  const char* const end = word.data() + word.size();
  const auto result = std::from_chars(word.data(), end, value);
  if (result.ec == std::errc() && result.ptr == end) return std::isfinite(value);
  constexpr std::size_t longest = 64;  // bounds the copy
  if (word.empty() || word.size() > longest) return false;
  // Two cases that from_chars rejects: the Fortran exponent letter, and magnitudes below the smallest double.
  std::string copy(word);
  if (const std::size_t exponent = copy.find_first_of("dD"); exponent != std::string::npos) copy[exponent] = 'e';
  if (copy.find_first_not_of("0123456789+-.eE") != std::string::npos) return false;
  char* stop = nullptr;
  value = std::strtod(copy.c_str(), &stop);
  return stop == copy.c_str() + copy.size() && std::isfinite(value);
}

bool parse_integer(std::string_view word, std::int64_t& value) {
  if (word.size() > 1 && word.front() == '+') word.remove_prefix(1);
  const char* const end = word.data() + word.size();
  const auto result = std::from_chars(word.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && lower_case(a) == lower_case(b);
}

void Scanner::skip_blanks() {
  while (!at_end() && is_space(bytes_[offset_])) skip_character();
}

std::string_view Scanner::word() {
  skip_blanks();
  return word_in_line();
}

void Scanner::skip_character() {
  const char c = bytes_[offset_++];
  // A carriage return ends a line unless a line feed follows.
  if (c == '\n' || (c == '\r' && (at_end() || bytes_[offset_] != '\n'))) ++line_;
}

std::string_view Scanner::word_in_line() {
  while (!at_end() && is_space(bytes_[offset_]) && bytes_[offset_] != '\n' && bytes_[offset_] != '\r') ++offset_;
  line_of_last_ = line_;
  const std::size_t begin = offset_;
  while (!at_end() && !is_space(bytes_[offset_])) ++offset_;
  return bytes_.substr(begin, offset_ - begin);
}

std::string_view Scanner::remaining_line() {
  line_of_last_ = line_;
  const std::size_t begin = offset_;
  const std::size_t end = std::min(bytes_.find_first_of("\r\n", begin), bytes_.size());
  offset_ = end;
  if (!at_end()) skip_character();
  if (!at_end() && bytes_[end] == '\r' && bytes_[offset_] == '\n') skip_character();
  return trimmed(bytes_.substr(begin, end - begin));
}

std::string_view Scanner::raw(std::size_t n, std::string_view what) {
  if (remaining() < n) {
    fail_at_byte(name_, bytes_.size(),
                 fmt::format("the file ends within {}: expected {} more bytes, found {}", what, n, remaining()));
  }
  const std::string_view piece = bytes_.substr(offset_, n);
  line_ += static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
  offset_ += n;
  line_of_last_ = line_;
  return piece;
}

void Scanner::roll_back(std::size_t offset, std::size_t line) {
  offset_ = offset;
  line_ = line;
  line_of_last_ = line;
}

double Scanner::number(std::string_view what) {
  const std::string_view found = word();
  double value = 0.0;
  if (!parse_number(found, value)) fail_expected(what, found);
  return value;
}

std::int64_t Scanner::integer(std::string_view what) {
  const std::string_view found = word();
  std::int64_t value = 0;
  if (!parse_integer(found, value)) fail_expected(what, found);
  return value;
}

std::uint64_t Scanner::count(std::string_view what, std::uint64_t max) {
  const std::string_view found = word();
  std::int64_t value = 0;
  if (!parse_integer(found, value) || value < 0 || static_cast<std::uint64_t>(value) > max) fail_expected(what, found);
  return static_cast<std::uint64_t>(value);
}

Vector3 Scanner::vector(std::string_view what) {
  const double x = number(what);
  const double y = number(what);
  const double z = number(what);
  return {x, y, z};
}

void Scanner::fail(const std::string& message) const {
  fail_at_line(name_, line_of_last_, message);
}

void Scanner::fail_expected(std::string_view what, std::string_view found) const {
  if (found.empty()) fail(fmt::format("expected {}, found the end of the {}", what, at_end() ? "file" : "line"));
  fail(fmt::format("expected {}, found {}", what, quoted(found)));
}

void Scanner::check_count(std::string_view what, std::uint64_t count, std::uint64_t limit,
                          std::size_t min_bytes_each) const {
  check_limit(name_, what, count, limit);
  if (count > remaining() / min_bytes_each + 1) {
    fail(fmt::format("expected {} {}, but only {} bytes of the file are left: it is truncated or its count is wrong",
                     count, what, remaining()));
  }
}

std::string_view ByteReader::raw(std::size_t n, std::string_view what) {
  if (remaining() < n) {
    fail(fmt::format("the file ends within {}: expected {} more bytes, found {}", what, n, remaining()));
  }
  const std::string_view piece = bytes_.substr(offset_, n);
  offset_ += n;
  return piece;
}

void ByteReader::check_count(std::string_view what, std::uint64_t count, std::uint64_t limit,
                             std::size_t bytes_each) const {
  check_limit(name_, what, count, limit);
  if (count > remaining() / bytes_each) {
    fail(fmt::format("expected {} {} of at least {} bytes each, but only {} bytes are left: truncated or a wrong count",
                     count, what, bytes_each, remaining()));
  }
}

}  // namespace heelstrike::fem::io
