#include <algorithm>

#include <fmt/format.h>

#include "mbs_server/elements/forces/line_force.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

/// The generalised Maxwell model: a spring k in parallel with branches of a spring k_i in series with a damper
/// tau_i k_i. With the elongation x = l - l0 and the elongations s_i of the dampers, which are the states,
///
///   F = k x + sum_i k_i (x - s_i),   ds_i/dt = (x - s_i) / tau_i.
///
/// After a step of x the force relaxes as F / x = k + sum_i k_i exp(-t / tau_i), a Prony series; a branch dissipates
/// k_i (x - s_i)^2 / tau_i.
struct MaxwellModel {
  double k = 0.0;           ///< [N/m]
  double unstrained = 0.0;  ///< [m]
  VectorX arms;             ///< k_i [N/m]
  VectorX times;            ///< tau_i [s]

  [[nodiscard]] Tension tension(double length, const ConstVector& s) const {
    const double x = length - unstrained;
    const auto strained = x - s.array();
    return {.force = k * x + (arms.array() * strained).sum(),
            .stiffness = k + arms.sum(),
            .energy = 0.5 * (k * x * x + (arms.array() * strained.square()).sum()),
            .dissipated = (arms.array() * strained.square() / times.array()).sum()};
  }
  void rates(double length, const ConstVector& s, Eigen::Ref<VectorX> f) const {
    f = ((length - unstrained - s.array()) / times.array()).matrix();
  }
  void tangents(LineStateTangents& by) const {
    by.force_s = -arms;
    by.f_length = times.cwiseInverse();
    by.f_speed = VectorX::Zero(times.size());
    by.f_s = (-times.cwiseInverse()).asDiagonal();
  }
};

VectorX vector_of(const config::Field& field) {
  const auto values = field.numbers();
  return Eigen::Map<const VectorX>(values.data(), static_cast<Eigen::Index>(values.size()));
}

}  // namespace

ForceType viscoelastic_spring() {
  ForceType type;
  type.name = "viscoelastic_spring";
  type.meaning = "viscoelastic spring between two points: generalised Maxwell model, a Prony series";
  type.keys =
      line_keys(config::number("stiffness", "N/m", config::stiffnesses, "long-term slope of the force; 0 = fluid"));
  type.keys.push_back(config::required(config::number_list("branch_stiffnesses", "N/m", config::stiffnesses,
                                                           "contribution of each branch to the instantaneous slope")));
  type.keys.push_back(config::required(config::number_list("relaxation_times", "s", config::times,
                                                           "of each branch; all branches are relaxed at the start")));
  type.check = [](const config::Field& field, const Scenario& /*scenario*/) {
    const std::size_t n = field["branch_stiffnesses"].numbers().size();
    const std::size_t n_times = field["relaxation_times"].numbers().size();
    if (n > 0 && n_times == n) return;
    field["relaxation_times"].reject(
        n > 0 ? fmt::format("{} times, one for each of branch_stiffnesses", n)
              : "at least one branch, and a time for each",
        fmt::format("{} times", n_times),
        n > 0 ? "give one for each branch" : "a spring without branches is a spring_damper");
  };
  type.build = [](const ElementSpec& spec, const Model& model) {
    LineElement element = read_line(spec, model);
    const MaxwellModel maxwell{.k = spec.keys["stiffness"].number(),
                               .unstrained = element.unstrained,
                               .arms = vector_of(spec.keys["branch_stiffnesses"]),
                               .times = vector_of(spec.keys["relaxation_times"])};
    element.tension = [maxwell](const LineMotion& at, const ConstVector& s) { return maxwell.tension(at.length, s); };
    element.states = {
        .n = static_cast<int>(maxwell.arms.size()),
        .start = [l0 = element.unstrained](const LineMotion& at,
                                           Eigen::Ref<VectorX> s) { s.setConstant(at.length - l0); },
        .rates = [maxwell](const LineMotion& at, const ConstVector& s,
                           Eigen::Ref<VectorX> f) { maxwell.rates(at.length, s, f); },
        .tangents = [maxwell](const LineMotion&, const ConstVector&, LineStateTangents& by) { maxwell.tangents(by); }};
    return line_force(std::move(element));
  };
  return type;
}

}  // namespace heelstrike::mbs
