/// Several lines in one force element: the bundles of a ligament.
#pragma once

#include <string>
#include <vector>

#include "mbs_server/elements/forces/line_force.hpp"

namespace heelstrike::mbs {

/// Lines without internal states, each with its columns, and the column NAME.force_N with the sum of their tensions.
[[nodiscard]] Force line_bundle(const std::string& name, std::vector<LineElement> lines);

}  // namespace heelstrike::mbs
