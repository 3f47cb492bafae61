/// Functions of joint coordinates in a scenario.
#pragma once

#include <vector>

#include "common/motion/scalar_function.hpp"
#include "scenario/schema/field.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

/// Keys of functions; an entry has exactly one.
[[nodiscard]] std::vector<KeySchema> coordinate_function_keys();
/// @throws Issue for none or several of the keys, and for invalid tables
[[nodiscard]] ScalarFunctionPtr read_coordinate_function(const Field& field);

}  // namespace heelstrike::config
