#include "report/html.hpp"

#include <fmt/format.h>
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

std::string html_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                       const std::vector<std::string>& row_attributes) {
  std::string text = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t c = 0; c < header.size(); ++c) {
    const bool right = !rows.empty() && c < rows[0].size() && is_number(rows[0][c]);
    text += fmt::format("<th scope=\"col\"{}>{}</th>", right ? " class=\"number\"" : "", escaped(header[c]));
  }
  text += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += fmt::format("<tr{}>", r < row_attributes.size() ? " " + row_attributes[r] : "");
    for (const std::string& cell : rows[r]) {
      text += fmt::format("<td{}>{}</td>", is_number(cell) ? " class=\"number\"" : "", escaped(cell));
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
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
