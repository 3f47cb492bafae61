/// Anatomical names of the axes of a body, for the labels of pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike {

/// The axes x, y and z of the frame of a body. @param names  of their positive ends, e.g. {"anterior", "superior",
/// "lateral"}
[[nodiscard]] std::vector<AnatomicalAxis> anatomical_axes(const std::vector<std::string>& names);

/// Three words for x, y and z, "posterior superior medial"; no axes for an empty text.
/// @param where  dotted key, for messages. @throws Error{invalid_input} for other words, or two of one axis
[[nodiscard]] std::vector<AnatomicalAxis> parse_anatomical_axes(std::string_view text, const std::string& where);

}  // namespace heelstrike
