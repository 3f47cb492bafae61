/// HTML elements. Every text is passed through `escaped`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/text/markup.hpp"

namespace heelstrike::report {

/// Table of texts; numeric cells are right-aligned.
/// @param row_attributes  one per row, inserted unescaped into its <tr>; may be empty
[[nodiscard]] std::string html_table(const std::vector<std::string>& header,
                                     const std::vector<std::vector<std::string>>& rows,
                                     const std::vector<std::string>& row_attributes = {});

// Scripts and style sheet of the pages, bundled at build time from report/web.

[[nodiscard]] std::string_view report_script();
/// The 3D view; only for pages with fields, because it is large.
[[nodiscard]] std::string_view fields_script();
[[nodiscard]] std::string_view live_script();
[[nodiscard]] std::string_view style_sheet();

}  // namespace heelstrike::report
