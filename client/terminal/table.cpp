#include "client/terminal/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace heelstrike::client {
namespace {

bool is_number(const std::string& text) {
  if (text.empty() || text == "-") return true;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0';
}

const std::string& cell(const std::vector<std::string>& row, std::size_t column) {
  static const std::string empty;
  return column < row.size() ? row[column] : empty;
}

}  // namespace

std::string Table::aligned() const {
  std::string text;
  std::vector<std::size_t> width(header.size());
  std::vector<bool> right(header.size(), true);
  for (std::size_t c = 0; c < header.size(); ++c) {
    width[c] = header[c].size();
    for (const auto& row : rows) {
      width[c] = std::max(width[c], cell(row, c).size());
      right[c] = right[c] && is_number(cell(row, c));
    }
  }
  const auto add_line = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t c = 0; c < header.size(); ++c) {
      if (c > 0) line += "  ";
      line += right[c] ? fmt::format("{:>{}}", cell(row, c), width[c]) : fmt::format("{:<{}}", cell(row, c), width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line(header);
  for (const auto& row : rows) add_line(row);
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

std::string number_text(double value, int digits) { return fmt::format("{:.{}g}", value, digits); }

}  // namespace heelstrike::client
