/// Text files: byte-order marks, and lines with their numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heelstrike {

/// Text of a file without its byte-order mark: the UTF-8 mark is removed, UTF-16 (either order) becomes UTF-8. Bytes
/// without a mark are passed on unchanged, without a copy. The bytes must outlive this object.
class MarkedText {
 public:
  explicit MarkedText(std::string_view bytes);
  MarkedText(const MarkedText&) = delete;
  MarkedText& operator=(const MarkedText&) = delete;

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  /// Describes the conversion; empty without one.
  [[nodiscard]] std::string note() const { return recoded_.empty() ? "" : "the file is UTF-16 and was read as such"; }

 private:
  std::string recoded_;
  std::string_view bytes_;
};

struct TextLine {
  std::string_view text;   ///< without line end
  std::size_t number = 0;  ///< from 1
};

/// Removes blanks, tabs and carriage returns at both ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Iterates over a text by lines, which end with LF, CR LF or CR. The text must outlive this object.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}

  /// The next line; none at the end of the text.
  [[nodiscard]] std::optional<TextLine> next() {
    if (rest_.empty()) return std::nullopt;
    const auto end = rest_.find_first_of("\r\n");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + (rest_.substr(end, 2) == "\r\n" ? 2 : 1));
    return TextLine{.text = line, .number = ++number_};
  }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

}  // namespace heelstrike
