/// Units of length as recordings name them.
#pragma once

#include <optional>
#include <string_view>

namespace heelstrike {

/// [m] of mm, cm, m and of the words they stand for (millimeters, metres, ...), in upper or lower case, with or without
/// the plural; a word may be cut off behind its fourth letter, as fields of fixed width do. None for other units.
[[nodiscard]] std::optional<double> length_of_unit(std::string_view name);

}  // namespace heelstrike
