/// Shape functions of deal.II in VolumeMesh numbering.
#pragma once

#include <deal.II/fe/fe.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "fem_server/fem/element_library.hpp"

namespace heelstrike::fem {

/// ElementLibrary::reference_element inside the module.
[[nodiscard]] ReferenceElement tabulated_reference_element(std::uint32_t n_nodes);

/// Element with one component: FE_SimplexP, FE_WedgeP or FE_Q. @pre n_nodes is 4, 6, 8, 10 or 27
[[nodiscard]] std::unique_ptr<dealii::FiniteElement<3>> scalar_element(std::uint32_t n_nodes);

/// Shape function of deal.II for each node of an element, matched by position.
/// @throws Error{internal} if deal.II has none at a node
[[nodiscard]] std::vector<unsigned> functions_of_nodes(const dealii::FiniteElement<3>& element);

}  // namespace heelstrike::fem
