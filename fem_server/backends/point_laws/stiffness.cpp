#include "fem_server/backends/point_laws/stiffness.hpp"

#include <fmt/format.h>
#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

double material_compliance(const std::vector<Material>& materials, const std::string& where) {
  if (materials.empty()) return 0.0;
  if (materials.size() > 1) {
    throw input_error(where, fmt::format("{}: a point law supports one material per body, found {}; keep one", where,
                                         materials.size()));
  }
  const Material& m = materials.front();
  if (!(std::isfinite(m.youngs_modulus) && m.youngs_modulus > 0.0 && m.poissons_ratio >= 0.0 &&
        m.poissons_ratio < 0.5)) {
    throw input_error(where,
                      fmt::format("{}: expected Young's modulus > 0 Pa and Poisson's ratio in [0, 0.5), found {} Pa "
                                  "and {}",
                                  where, m.youngs_modulus, m.poissons_ratio));
  }
  return (1.0 - m.poissons_ratio * m.poissons_ratio) / m.youngs_modulus;
}

double hertz_stiffness(double compliances, double effective_radius) {
  return 4.0 / (3.0 * compliances) * std::sqrt(effective_radius);
}

}  // namespace heelstrike::fem
