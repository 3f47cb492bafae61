#include "fem_server/backend_interface/field_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

void check_quantities(const FieldRequest& request) {
  std::vector<std::string> known;
  for (const FieldQuantity& quantity : field_quantities) known.emplace_back(quantity.name);
  for (const std::string& name : request.quantities) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw input_error("fields", fmt::format("fields: unknown quantity '{}'; known: {}", name, fmt::join(known, ", ")));
  }
}

bool is_requested(const FieldRequest& request, std::string_view name) {
  return request.quantities.empty() || std::ranges::find(request.quantities, name) != request.quantities.end();
}

std::string unit_of(std::string_view name) {
  return std::string(std::ranges::find(field_quantities, name, &FieldQuantity::name)->unit);
}

MeshField part_of_cells(FieldPart part, std::size_t n_cells) {
  return {.name = "partner",
          .unit = {},
          .n_components = 1,
          .values = std::vector<double>(n_cells, part == FieldPart::partner ? 1.0 : 0.0)};
}

}  // namespace heelstrike::fem
