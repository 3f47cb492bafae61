#include "common/text/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace heelstrike {
namespace {

bool is_number(const std::string& text) {
  if (text.empty() || text == "-") return true;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0';
}

constexpr std::size_t between = 2;          ///< columns
constexpr std::size_t min_text_width = 16;  ///< minimum width of a column of words

const std::string& cell(const std::vector<std::string>& row, std::size_t column) {
  static const std::string empty;
  return column < row.size() ? row[column] : empty;
}

/// Widths of the columns, and which contain numbers.
struct Layout {
  std::vector<std::size_t> width;
  std::vector<bool> right;
};

Layout layout_of(const Table& table) {
  Layout layout{.width = std::vector<std::size_t>(table.header.size()),
                .right = std::vector<bool>(table.header.size(), true)};
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    layout.width[c] = table.header[c].size();
    for (const auto& row : table.rows) {
      layout.width[c] = std::max(layout.width[c], cell(row, c).size());
      layout.right[c] = layout.right[c] && is_number(cell(row, c));
    }
  }
  return layout;
}

std::size_t total(const Layout& layout, const std::vector<std::size_t>& columns) {
  std::size_t sum = 0;
  for (const std::size_t c : columns) sum += layout.width[c] + (sum > 0 ? between : 0);
  return sum;
}

/// Length of the longest piece of a text that a line break does not cut (wrapped_lines).
std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0, begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ' ' && text[i] != ',') continue;
    longest = std::max(longest, std::min(i + 1, text.size()) - begin - (i < text.size() && text[i] == ' ' ? 1 : 0));
    begin = i + 1;
  }
  return longest;
}

/// Narrows the widest columns of words until the line fits or all have their minimum width: that of their longest word,
/// up to half the line.
void narrow(const Table& table, Layout& layout, const std::vector<std::size_t>& columns, std::size_t width) {
  std::vector<std::size_t> least(layout.width.size(), min_text_width);
  for (const std::size_t c : columns) {
    const auto keep_words = [&](const std::string& text) {
      least[c] = std::max(least[c], std::min(longest_word(text), width / 2));
    };
    keep_words(table.header[c]);
    for (const auto& row : table.rows) keep_words(cell(row, c));
  }
  while (total(layout, columns) > width) {
    std::size_t widest = layout.width.size();
    for (const std::size_t c : columns) {
      if (layout.right[c] || layout.width[c] <= least[c]) continue;
      if (widest == layout.width.size() || layout.width[c] > layout.width[widest]) widest = c;
    }
    if (widest == layout.width.size()) return;
    --layout.width[widest];
  }
}

std::string row_text(const std::vector<std::string>& row, const Layout& layout,
                     const std::vector<std::size_t>& columns) {
  std::vector<std::vector<std::string>> cells;
  std::size_t n_lines = 1;
  for (const std::size_t c : columns) {
    cells.push_back(wrapped_lines(cell(row, c), std::max<std::size_t>(layout.width[c], 1)));
    n_lines = std::max(n_lines, cells.back().size());
  }
  std::string text;
  for (std::size_t l = 0; l < n_lines; ++l) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t c = columns[i];
      const std::string piece = l < cells[i].size() ? cells[i][l] : std::string();
      if (i > 0) line += std::string(between, ' ');
      line += layout.right[c] ? fmt::format("{:>{}}", piece, layout.width[c])
                              : fmt::format("{:<{}}", piece, layout.width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string text_of(const Table& table, const Layout& layout, const std::vector<std::size_t>& columns) {
  std::string text = row_text(table.header, layout, columns);
  for (const auto& row : table.rows) text += row_text(row, layout, columns);
  return text;
}

}  // namespace

std::string Table::aligned() const {
  return fitted(0);
}

std::string Table::fitted(std::size_t width) const {
  Layout layout = layout_of(*this);
  std::vector<std::size_t> columns(header.size());
  std::iota(columns.begin(), columns.end(), 0U);
  if (width == 0 || total(layout, columns) <= width) return text_of(*this, layout, columns);
  narrow(*this, layout, columns, width);
  // Columns that still do not fit follow below, with the first column repeated.
  std::string text;
  std::size_t next = 1;
  do {
    std::vector<std::size_t> shown = {0};
    while (next < header.size()) {
      shown.push_back(next);
      if (shown.size() > 2 && total(layout, shown) > width) {
        shown.pop_back();
        break;
      }
      ++next;
    }
    text += (text.empty() ? "" : "\n") + text_of(*this, layout, shown);
  } while (next < header.size());
  return text;
}

std::string Table::markdown() const {
  std::string text = "|";
  for (const std::string& name : header) text += fmt::format(" {} |", name);
  text += "\n|";
  for (std::size_t c = 0; c < header.size(); ++c) text += "---|";
  text += '\n';
  for (const auto& row : rows) {
    text += '|';
    for (std::size_t c = 0; c < header.size(); ++c) text += fmt::format(" {} |", cell(row, c));
    text += '\n';
  }
  return text;
}

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width, std::string_view breaks) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    const auto last_break = [&](std::string_view after) {
      for (std::size_t i = width; i > 0; --i) {
        if (text[i] == ' ' || after.find(text[i - 1]) != std::string_view::npos) return i;
      }
      return std::size_t{0};
    };
    std::size_t end = last_break(breaks);
    if (end == 0) end = last_break("_");  // an identifier that is longer than the line
    if (end == 0) end = width;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  lines.emplace_back(text);
  return lines;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (!line.empty() || &field != &fields.front()) line += ',';
    if (field.find_first_of(",\"\n") == std::string::npos) {
      line += field;
      continue;
    }
    line += '"';
    for (const char c : field) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + '\n';
}

std::string number_text(double value, int digits) {
  return fmt::format("{:.{}g}", value, digits);
}

}  // namespace heelstrike
