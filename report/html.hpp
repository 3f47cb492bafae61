/// Pieces of HTML. Every text goes through `escaped`.
#pragma once

#include <string>
#include <vector>

#include "common/text/markup.hpp"

namespace heelstrike::report {

/// Table of texts; cells that are numbers stand to the right.
/// @param row_attributes  one per row, written into its <tr> as they are; may be empty
[[nodiscard]] std::string html_table(const std::vector<std::string>& header,
                                     const std::vector<std::vector<std::string>>& rows,
                                     const std::vector<std::string>& row_attributes = {});

}  // namespace heelstrike::report
