/// Numbers that are allowed but hardly meant: a millimetre taken for a metre, elements larger than their body, a body
/// of which half is lost when it is meshed. What cannot give anything sensible is refused; what is only unlikely is
/// answered with a sentence that says which unit was probably meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fem_server/geometry/volume_check.hpp"

namespace heelstrike::fem {

/// One sentence each.
using Warnings = std::vector<std::string>;

/// Doubts about the size of what a file holds: bodies of gait, machines and implants have between 1 mm and 10 m.
/// @param extents       [m] after scaling
/// @param length_scale  [m per file unit] that was used
/// @param scale_key     how it is set, e.g. "length_scale"
[[nodiscard]] Warnings find_extent_warnings(const Vector3& extents, double length_scale, const std::string& scale_key);

/// Doubts about the edge length of elements: fewer than two of them through the body bend far too stiffly.
/// @param key   of the size, e.g. "element_size", for messages
/// @param size  [m] > 0 @param extents [m] of the body
/// @throws Error{invalid_input} for elements larger than the body
[[nodiscard]] Warnings find_element_size_warnings(const std::string& key, double size, const Vector3& extents);

/// Doubts about what meshing has lost of a closed surface.
/// @param meshed, given  [m^3] volumes @param size_key  how the edge length is set @param size [m]
/// @throws Error{invalid_input} when more than a quarter is missing or added
[[nodiscard]] Warnings find_volume_warnings(double meshed, double given, const std::string& size_key, double size);

/// Doubts about the shape of elements. @param name  of the mesh or of what its size is set by, for messages
[[nodiscard]] Warnings find_quality_warnings(const std::string& name, const VolumeReport& report);

/// Doubts about two bodies that shall touch. @param main, partner  [m] their extents
[[nodiscard]] Warnings find_proportion_warnings(const Vector3& main, const Vector3& partner);

}  // namespace heelstrike::fem
