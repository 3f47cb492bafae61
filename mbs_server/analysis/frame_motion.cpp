#include "mbs_server/analysis/frame_motion.hpp"

#include <utility>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/driver_equations.hpp"

namespace heelstrike::mbs {

Driver coordinate_driver(const Model& model, const std::string& name, TimeFunctionPtr motion) {
  const auto [joint, place] = find_coordinate(model, name);
  Driver driver{.name = name, .coordinates = {{name, joint->map->is_rotation(place) ? "rad" : "m", std::move(motion)}}};
  driver.make = [name, map = joint->map, at = place](const std::vector<DrivenCoordinate>& x) {
    return drive_coordinates(name, map, {at}, {x.front().function});
  };
  return driver;
}

void find_directions(System& system, double t, const ConstVector& q,
                     const std::vector<std::shared_ptr<FrameMotion>>& motions, CoordinateDirections& out) {
  const auto n = static_cast<Eigen::Index>(motions.size());
  out.nu.resize(system.n_constraints(), n);
  out.J.resize(q.size(), n);
  for (const auto& motion : motions) motion->probe(0.0);
  // nu is linear in the rates: its difference for two probes is nu_k.
  const VectorX none = system.prescribed_velocity(t, q);
  for (Eigen::Index k = 0; k < n; ++k) {
    FrameMotion& motion = *motions[static_cast<std::size_t>(k)];
    motion.probe(1.0);
    out.nu.col(k) = system.prescribed_velocity(t, q) - none;
    motion.probe(0.0);
    out.J.col(k) = system.solve_min_norm_change(t, q, out.nu.col(k));
  }
  for (const auto& motion : motions) motion->release();
}

}  // namespace heelstrike::mbs
