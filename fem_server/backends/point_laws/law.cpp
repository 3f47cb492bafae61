#include "fem_server/backends/point_laws/law.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/hysteresis.hpp"

namespace heelstrike::fem {

std::span<const LawKind> law_table() {
  using enum LawForm;
  static constexpr LawKind table[] = {
      {"flores", "hysteresis law for soft to hard contacts; infinite damping as restitution tends to 0", "flores2011",
       hysteresis, false, flores_factor},
      {"gonthier", "hysteresis law that gives exactly the requested restitution", "gonthier2004", hysteresis, false,
       gonthier_factor, [](double c_r) { return (1.0 - c_r) * (1.0 + c_r) / c_r; }},
      {"herbert_mcwhannell", "hysteresis law, more dissipative than hunt_crossley; for high restitution", "herbert1977",
       hysteresis, false, [](double c_r) { return 6.0 * (1.0 - c_r) / ((2.0 * c_r - 1.0) * (2.0 * c_r - 1.0) + 3.0); }},
      {"hertz", "elastic power law of spheres, no dissipation", "hertz1881", elastic, false},
      {"hooke", "linear spring, no dissipation", "hooke1678", elastic, true},
      {"hunt_crossley", "hysteresis law, the first of its family; for high restitution", "hunt1975", hysteresis, false,
       [](double c_r) { return 1.5 * (1.0 - c_r); }},
      {"kelvin_voigt", "linear spring and dashpot; the force jumps at onset", "goldsmith1960", viscous, true},
      {"lankarani_nikravesh", "hysteresis law from an energy balance; for high restitution", "lankarani1990",
       hysteresis, false, [](double c_r) { return 0.75 * (1.0 - c_r) * (1.0 + c_r); }},
      {"lee_wang", "hysteresis law, the least dissipative of its family", "lee1983", hysteresis, false,
       [](double c_r) { return 0.75 * (1.0 - c_r); }},
      {"zhiying_qishao", "hysteresis law, lankarani_nikravesh corrected for low restitution", "zhiying2006", hysteresis,
       false, [](double c_r) { return 0.75 * (1.0 - c_r) * (1.0 + c_r) * std::exp(2.0 * (1.0 - c_r)); }},
  };
  return table;
}

LawForce law_force(const PointLaw& law, double depth, double rate, std::optional<double> approach_velocity) {
  const double K = law.stiffness;
  const double n = law.exponent;
  const double power = std::pow(depth, n - 1.0);
  LawForce f;
  f.elastic = K * power * depth;
  f.stored_energy = f.elastic * depth / (n + 1.0);
  f.force = f.elastic;
  f.dF_ddepth = n * K * power;
  if (law.form == LawForm::viscous) {
    f.force += law.damping * rate;
    f.dF_drate = law.damping;
  } else if (law.form == LawForm::hysteresis) {
    const double v0 = std::max(approach_velocity.value_or(rate), law.min_approach_velocity);
    const double factor = 1.0 + law.hysteresis_factor * (rate / v0);
    // Without a latched value v0 is the rate: their quotient is 1 and its derivative zero.
    const bool follows = !approach_velocity && rate > law.min_approach_velocity;
    f.dF_drate = follows ? 0.0 : f.elastic * law.hysteresis_factor / v0;
    f.force *= factor;
    f.dF_ddepth *= factor;
  }
  if (f.force < 0.0 && !law.tensile) {
    f.force = 0.0;
    f.dF_ddepth = 0.0;
    f.dF_drate = 0.0;
  }
  return f;
}

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
