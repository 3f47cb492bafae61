/// HTML elements. Every text is passed through `escaped`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/text/markup.hpp"

namespace heelstrike::report {

struct TableColumn {
  std::string heading;
  std::vector<std::string> cells;  ///< "-" = no value
};

/// Table of texts; numeric cells are right-aligned. A column without any value is omitted. On narrow screens the style
/// sheet shows a row as lines of heading and cell.
/// @param columns  of equal length
/// @param row_attributes  one per row, inserted unescaped into its <tr>; may be empty
[[nodiscard]] std::string html_table(const std::vector<TableColumn>& columns,
                                     const std::vector<std::string>& row_attributes = {});
/// The same by rows as long as the header.
[[nodiscard]] std::string html_table(const std::vector<std::string>& header,
                                     const std::vector<std::vector<std::string>>& rows);

// Scripts and style sheet of the pages, bundled at build time from report/web.

[[nodiscard]] std::string_view report_script();
/// The 3D view; only for pages with fields, because it is large.
[[nodiscard]] std::string_view fields_script();
[[nodiscard]] std::string_view live_script();
[[nodiscard]] std::string_view style_sheet();

}  // namespace heelstrike::report
