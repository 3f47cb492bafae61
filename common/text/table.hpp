/// A table of texts, printed aligned, as CSV or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike {

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< shorter rows than the header are padded with empty cells

  /// Columns separated by two spaces; numbers are right-aligned, words left-aligned.
  [[nodiscard]] std::string aligned() const;
  /// The same in lines of at most `width` characters as far as possible: columns of words are wrapped between words,
  /// and columns that do not fit follow in a table below.
  /// @param width  0 = unlimited
  [[nodiscard]] std::string fitted(std::size_t width) const;
  [[nodiscard]] std::string markdown() const;
};

/// A text in lines of at most `width` characters, broken at a blank or after one of `breaks`, else within a word, after
/// a low line if possible.
[[nodiscard]] std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width,
                                                     std::string_view breaks = ",");

/// One CSV line, fields quoted where needed.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& fields);

/// "4.53e-05" style with `digits` significant digits; "-" when absent.
[[nodiscard]] std::string number_text(double value, int digits = 6);

}  // namespace heelstrike
