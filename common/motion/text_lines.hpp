/// Lines of a text with their numbers.
#pragma once

#include <optional>
#include <string_view>

namespace heelstrike {

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
