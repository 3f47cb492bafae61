#include "report/html.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>

// Defined in resources.S.in.
extern "C" {
extern const char heelstrike_report_js_begin[], heelstrike_report_js_end[];
extern const char heelstrike_fields_js_begin[], heelstrike_fields_js_end[];
extern const char heelstrike_live_js_begin[], heelstrike_live_js_end[];
extern const char heelstrike_report_css_begin[], heelstrike_report_css_end[];
}

namespace heelstrike::report {

namespace {

bool is_number(const std::string& text) {
  if (text.empty()) return false;
  if (text == "-") return true;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  const std::string_view rest(end);
  return end != text.c_str() && (rest.empty() || rest == " %");
}

}  // namespace

std::string html_table(const std::vector<TableColumn>& columns, const std::vector<std::string>& row_attributes) {
  std::vector<const TableColumn*> shown;
  for (const TableColumn& column : columns) {
    const bool empty = std::ranges::all_of(column.cells, [](const std::string& cell) { return cell == "-"; });
    if (!empty) shown.push_back(&column);
  }
  std::string text = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const TableColumn* column : shown) {
    const bool right =
        std::ranges::any_of(column->cells, [](const std::string& cell) { return cell != "-" && is_number(cell); });
    text += fmt::format("<th scope=\"col\"{}>{}</th>", right ? " class=\"number\"" : "", escaped(column->heading));
  }
  text += "</tr></thead>\n<tbody>\n";
  const std::size_t n_rows = shown.empty() ? 0 : shown.front()->cells.size();
  for (std::size_t r = 0; r < n_rows; ++r) {
    text += fmt::format("<tr{}>", r < row_attributes.size() ? " " + row_attributes[r] : "");
    for (const TableColumn* column : shown) {
      text += fmt::format("<td{} data-label=\"{}\">{}</td>", is_number(column->cells[r]) ? " class=\"number\"" : "",
                          escaped(column->heading), escaped(column->cells[r]));
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string html_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  std::vector<TableColumn> columns;
  for (const std::string& heading : header) columns.push_back({.heading = heading, .cells = {}});
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t c = 0; c < header.size(); ++c) columns[c].cells.push_back(row[c]);
  }
  return html_table(columns);
}

std::string_view report_script() {
  return {heelstrike_report_js_begin, heelstrike_report_js_end};
}
std::string_view fields_script() {
  return {heelstrike_fields_js_begin, heelstrike_fields_js_end};
}
std::string_view live_script() {
  return {heelstrike_live_js_begin, heelstrike_live_js_end};
}
std::string_view style_sheet() {
  return {heelstrike_report_css_begin, heelstrike_report_css_end};
}

}  // namespace heelstrike::report
