/// Plausibility checks for valid but unlikely values: millimetres read as metres, elements larger than their body, a
/// body that loses half of its volume in meshing. Impossible values raise an error; unlikely ones produce a warning
/// that suggests the probable unit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fem_server/geometry/volume_check.hpp"

namespace heelstrike::fem {

/// One sentence each.
using Warnings = std::vector<std::string>;

/// Warnings about the size of the content of a file: bodies in gait, machines and implants measure 1 mm to 10 m.
/// @param extents       [m] after scaling
/// @param length_scale  [m per file unit] in use
/// @param scale_key     key that sets it, e.g. "length_scale"
[[nodiscard]] Warnings find_extent_warnings(const Vector3& extents, double length_scale, const std::string& scale_key);

/// Warnings about the element size: fewer than two linear elements through the thickness are far too stiff in bending;
/// one quadratic element is not.
/// @param key   of the size, e.g. "element_size", for messages
/// @param size  [m] > 0 @param extents [m] of the body
/// @throws Error{invalid_input} for elements larger than the body
[[nodiscard]] Warnings find_element_size_warnings(const std::string& key, double size, const Vector3& extents,
                                                  bool is_quadratic = false);

/// Warnings about the volume lost or gained in meshing a closed surface.
/// @param meshed, given  [m^3] volumes @param size_key  key of the edge length @param size [m]
/// @throws Error{invalid_input} when more than a quarter is missing or added
[[nodiscard]] Warnings find_volume_warnings(double meshed, double given, const std::string& size_key, double size);

/// Warnings about element quality. @param name  of the mesh or of its size key, for messages
[[nodiscard]] Warnings find_quality_warnings(const std::string& name, const VolumeReport& report);

/// Warnings about the relative size of two bodies of a contact pair. @param main, partner  [m] their extents
[[nodiscard]] Warnings find_proportion_warnings(const Vector3& main, const Vector3& partner);

}  // namespace heelstrike::fem
