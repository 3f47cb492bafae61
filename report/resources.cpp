#include "report/resources.hpp"

extern "C" {
extern const char heelstrike_report_js_begin[], heelstrike_report_js_end[];
extern const char heelstrike_fields_js_begin[], heelstrike_fields_js_end[];
extern const char heelstrike_live_js_begin[], heelstrike_live_js_end[];
extern const char heelstrike_report_css_begin[], heelstrike_report_css_end[];
}

namespace heelstrike::report {

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
