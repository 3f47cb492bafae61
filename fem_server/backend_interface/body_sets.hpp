/// Parts of a body's surface that the parameters of a pair choose: what is held and what may touch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Parameters of a pair with the place where they stand, for messages.
struct ParameterPrefix {
  std::string where;  ///< "contact.NAME.parameters."
  const ParameterMap& parameters;

  /// A list that is empty or has `expected` entries. @throws Error{invalid_input}
  [[nodiscard]] std::vector<double> numbers(const std::string& name, std::size_t expected) const;
};

/// clamped_set, clamped_box, contact_set, contact_box, contact_direction and contact_angle.
[[nodiscard]] std::vector<ParameterSchema> body_set_parameters();

/// Nodes of clamped_set and clamped_box, ascending; none when neither is given.
/// @throws Error{invalid_input} for a set that the mesh has not, a box without a node
[[nodiscard]] std::vector<std::uint32_t> clamped_nodes(const VolumeMesh& mesh, const ParameterPrefix& place);

/// Faces of contact_set, else of the boundary, as far as contact_box and contact_direction let them; of a side that
/// comes in parts all or none.
/// @param cut  faces inside the body that a cut laid open, ascending: what lies behind them is only left out, so
///             nothing touches them
/// @throws Error{invalid_input} for a set that the mesh has not
[[nodiscard]] std::vector<ElementFace> contact_faces(const VolumeMesh& mesh, std::span<const ElementFace> cut,
                                                     const ParameterPrefix& place);

}  // namespace heelstrike::fem
