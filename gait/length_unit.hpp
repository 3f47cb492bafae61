/// Names of length units in recordings.
#pragma once

#include <optional>
#include <string_view>

namespace heelstrike {

/// [m] of mm, cm, m and their full names (millimeters, metres, ...), in upper or lower case, singular or plural; a name
/// may be truncated after its fourth letter, as in fields of fixed width. None for other units.
[[nodiscard]] std::optional<double> length_of_unit(std::string_view name);

}  // namespace heelstrike
