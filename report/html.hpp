/// HTML elements. Every text is passed through `escaped`.
#pragma once

#include <string>
#include <vector>

#include "common/text/markup.hpp"

namespace heelstrike::report {

/// Table of texts; numeric cells are right-aligned.
/// @param row_attributes  one per row, inserted unescaped into its <tr>; may be empty
[[nodiscard]] std::string html_table(const std::vector<std::string>& header,
                                     const std::vector<std::vector<std::string>>& rows,
                                     const std::vector<std::string>& row_attributes = {});

}  // namespace heelstrike::report
