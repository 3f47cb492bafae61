/// Numbers in attributes and elements of model files.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace heelstrike::models {

/// Finite numbers separated by blanks; none for any other text, also behind a number.
[[nodiscard]] std::optional<std::vector<double>> numbers_in(std::string_view text);

}  // namespace heelstrike::models
