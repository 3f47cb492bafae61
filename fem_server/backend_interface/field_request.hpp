/// Checks and helpers for field requests, shared by all back-ends with fields.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/contact/fields.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {

/// @throws Error{invalid_input} for an unknown quantity
void check_quantities(const FieldRequest& request);
[[nodiscard]] bool is_requested(const FieldRequest& request, std::string_view name);
/// @pre `name` is in field_quantities
[[nodiscard]] std::string unit_of(std::string_view name);
/// Body index of each cell, which distinguishes the parts when a viewer merges them.
[[nodiscard]] MeshField part_of_cells(FieldPart part, std::size_t n_cells);

}  // namespace heelstrike::fem
