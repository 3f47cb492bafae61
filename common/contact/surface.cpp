#include "common/contact/surface.hpp"

namespace heelstrike {

std::string surface_name(const Surface& surface) {
  constexpr const char* names[] = {"sphere", "plane", "cylinder", "mesh", "points", "block", "foot"};
  return names[surface.index()];
}

}  // namespace heelstrike
