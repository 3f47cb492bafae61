/// What every back-end with fields asks of a request for them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/contact/fields.hpp"
#include "fem_server/geometry/write_fields.hpp"

namespace heelstrike::fem {

/// @throws Error{invalid_input} for an unknown quantity
void check_quantities(const FieldRequest& request);
[[nodiscard]] bool wanted(const FieldRequest& request, std::string_view name);
/// @pre a name of field_quantities
[[nodiscard]] std::string unit_of(std::string_view name);
/// Which body a cell belongs to, so that parts can be told apart when a viewer joins them.
[[nodiscard]] MeshField part_of_cells(FieldPart part, std::size_t n_cells);

}  // namespace heelstrike::fem
