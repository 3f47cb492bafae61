/// Selection of the elements of a body that stay nonlinear.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// Elements with a contact node, and those whose centre is within `depth` [m] of one; ascending.
[[nodiscard]] std::vector<std::uint32_t> layer_of_depth(const BodyModel& body, const ContactNodes& contact,
                                                        double depth);

/// Elements of a set, ascending.
/// @throws Error{invalid_input} for a set that does not exist or is empty, and when contact nodes lie outside it
[[nodiscard]] std::vector<std::uint32_t> layer_of_set(const BodyModel& body, const ContactNodes& contact,
                                                      const std::string& set, const std::string& key);

}  // namespace heelstrike::fem
