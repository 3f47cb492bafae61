/// Scripts and style sheet of the pages, bundled at build time from report/web.
#pragma once

#include <string_view>

namespace heelstrike::report {

[[nodiscard]] std::string_view report_script();
/// The 3D view; only for pages with fields, because it is large.
[[nodiscard]] std::string_view fields_script();
[[nodiscard]] std::string_view live_script();
[[nodiscard]] std::string_view style_sheet();

}  // namespace heelstrike::report
