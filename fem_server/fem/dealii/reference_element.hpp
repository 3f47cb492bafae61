/// Shape functions and quadrature rules from deal.II.
#pragma once

#include <cstdint>

#include "fem_server/fem/reference_element.hpp"

namespace heelstrike::fem {

/// make_reference_element() on this side of the module's border.
[[nodiscard]] ReferenceElement tabulated_reference_element(std::uint32_t n_nodes);

}  // namespace heelstrike::fem
