#include "fem_server/backends/elastic_foundation/friction_load.hpp"

#include <algorithm>
#include <cstddef>

namespace heelstrike::fem {

namespace {

/// Component across T of the force of a spring under unit force.
struct AcrossTarget {
  Vector3 value;                   ///< [-] on C
  Matrix36 dX = Matrix36::Zero();  ///< by the pose, if slopes are requested
};

/// Derivative by the pose of the direction w of a spring's rate, along which no motion is tangential to T.
Matrix36 differentiate_rate_direction(const SpringBed& bed, const BedState& state, std::size_t i) {
  if (!state.drate.empty()) return state.drate[i].bottomRows<3>();
  const ActiveSpring& loaded = state.springs[i];
  if (!loaded.flat) return state.dwrench[loaded.bent].bottomRows<3>();
  const Vector3 w = loaded.motion.rate.tail<3>();
  Matrix36 dw = Matrix36::Zero();
  dw.leftCols<3>() = -skew(w) - w * bed.casting().springs()[loaded.spring].normal.cross(w).transpose();
  return dw;
}

AcrossTarget across_target(const SpringBed& bed, const BedState& state, std::size_t i) {
  const SpringKinematics& motion = state.springs[i].motion;
  const bool tangents = !state.slopes.empty();
  const Vector3 w = motion.rate.tail<3>();
  AcrossTarget across{.value = w};
  if (tangents) across.dX = differentiate_rate_direction(bed, state, i);
  if (bed.options().direction == ForceDirection::energy) return across;
  const Vector3 f = motion.wrench.tail<3>();
  const double square = w.squaredNorm();
  const double share = w.dot(f) / square;
  across.value = share * w;
  if (!tangents) return across;
  const Matrix36 df = state.dwrench[state.springs[i].bent].bottomRows<3>();
  const RowVector6 dshare = (w.transpose() * df + (f - 2.0 * share * w).transpose() * across.dX) / square;
  across.dX = share * across.dX + w * dshare;
  return across;
}

void add(FrictionLoad& load, const NormalForce& share, const FrictionLoad& whole) {
  load.force += share.value * whole.force;
  load.dX += whole.force * share.dX + share.value * whole.dX;
  load.dV += whole.force * share.dV + share.value * whole.dV;
}

}  // namespace

NormalForce centre_force(const BedState& bed, std::size_t spring, double dissipation, const Vector6& V_CT) {
  const double force = bed.springs[spring].force;
  const Vector6& rate = bed.springs[spring].motion.rate;
  const double factor = dissipation > 0.0 ? std::max(0.0, 1.0 + dissipation * rate.dot(V_CT)) : 1.0;
  NormalForce damped{.value = factor * force};
  if (bed.slopes.empty()) return damped;
  damped.dX = factor * bed.slopes[spring].dforce.transpose();
  if (!(dissipation > 0.0) || !(factor > 0.0)) return damped;
  damped.dX += force * dissipation * (V_CT.transpose() * bed.drate[spring]);
  damped.dV = force * dissipation * rate.transpose();
  return damped;
}

std::array<NormalForce, 3> corner_forces(const BedState& bed, const ActivePlane& plane, double dissipation,
                                         const Vector6& V_CT) {
  std::array<NormalForce, 3> corners;
  for (std::size_t k = 0; k < 3; ++k) {
    corners[k] = {.value = plane.forces[static_cast<Eigen::Index>(k)], .dX = plane.dforces[k].transpose()};
  }
  if (!(dissipation > 0.0)) return corners;
  const bool tangents = !bed.slopes.empty();
  std::array<RowVector6, 4> by_twist;
  std::array<RowVector6, 4> by_pose;
  for (std::size_t k = 0; k < 4; ++k) {
    by_twist[k] = plane.shares[k] * bed.springs[plane.springs[k]].motion.rate.transpose();
    if (tangents) by_pose[k] = plane.shares[k] * (V_CT.transpose() * bed.drate[plane.springs[k]]);
  }
  const std::array<RowVector6, 3> rates = plane_of<RowVector6>(by_twist, plane.centre_weight);
  const std::array<RowVector6, 3> drates = tangents ? plane_of<RowVector6>(by_pose, plane.centre_weight) : rates;
  for (std::size_t k = 0; k < 3; ++k) {
    NormalForce& corner = corners[k];
    const double factor = std::max(0.0, 1.0 + dissipation * (rates[k] * V_CT).value());
    const double slope = factor > 0.0 ? corner.value * dissipation : 0.0;
    corner.value *= factor;
    corner.dX = factor * corner.dX + slope * drates[k];
    corner.dV = slope * rates[k];
  }
  return corners;
}

std::array<NormalForce, 4> spring_forces(const std::array<NormalForce, 3>& corners, double centre_weight) {
  const auto& [a, b, c] = corners;
  const auto value = by_four_points<double>({a.value, b.value, c.value}, centre_weight);
  const auto dX = by_four_points<RowVector6>({a.dX, b.dX, c.dX}, centre_weight);
  const auto dV = by_four_points<RowVector6>({a.dV, b.dV, c.dV}, centre_weight);
  std::array<NormalForce, 4> forces;
  for (std::size_t k = 0; k < 4; ++k) forces[k] = {.value = value[k], .dX = dX[k], .dV = dV[k]};
  return forces;
}

// As much of the force is in the centre as is left there by the lowest corner: below a load that covers the triangle
// this is all that spring_forces has there.
std::array<NormalForce, 4> friction_shares(const std::array<NormalForce, 3>& corners, double centre_weight) {
  std::array<NormalForce, 4> shares{};
  NormalForce sum;
  for (std::size_t k = 0; k < 3; ++k) {
    // The sums of a cut triangle for a nonlinear law may be negative by their error.
    if (corners[k].value > 0.0) shares[k] = corners[k];
    sum.value += shares[k].value;
    sum.dX += shares[k].dX;
    sum.dV += shares[k].dV;
  }
  for (std::size_t k = 0; k < 3; ++k) {
    NormalForce& share = shares[k];
    share.value /= sum.value;
    share.dX = (share.dX - share.value * sum.dX) / sum.value;
    share.dV = (share.dV - share.value * sum.dV) / sum.value;
  }
  const NormalForce lowest = *std::ranges::min_element(shares.begin(), shares.begin() + 3, {}, &NormalForce::value);
  NormalForce of_centre{.value = centre_weight / 3.0};
  if (lowest.value < of_centre.value) of_centre = lowest;
  for (std::size_t k = 0; k < 3; ++k) {
    shares[k].value -= of_centre.value;
    shares[k].dX -= of_centre.dX;
    shares[k].dV -= of_centre.dV;
  }
  shares[3] = {.value = 3.0 * of_centre.value, .dX = 3.0 * of_centre.dX, .dV = 3.0 * of_centre.dV};
  return shares;
}

std::vector<FrictionLoad> friction_loads(const SpringBed& bed, const BedState& state, double dissipation,
                                         const Vector6& V_CT) {
  std::vector<FrictionLoad> loads(state.springs.size());
  std::vector<AcrossTarget> across;
  across.reserve(state.springs.size());
  for (std::size_t i = 0; i < state.springs.size(); ++i) across.push_back(across_target(bed, state, i));
  const auto of_spring = [&](std::size_t i) { return FrictionLoad{.force = across[i].value, .dX = across[i].dX}; };
  if (bed.casting().places() == SpringPlaces::centres) {
    for (std::size_t i = 0; i < loads.size(); ++i) {
      add(loads[i], centre_force(state, i, dissipation, V_CT), of_spring(i));
    }
    return loads;
  }
  for (const ActivePlane& plane : state.planes) {
    const std::array<NormalForce, 3> corners = corner_forces(state, plane, dissipation, V_CT);
    if (std::ranges::none_of(corners, [](const NormalForce& corner) { return corner.value > 0.0; })) continue;
    const std::array<NormalForce, 4> of_springs = spring_forces(corners, plane.centre_weight);
    FrictionLoad triangle;
    for (std::size_t k = 0; k < 4; ++k) {
      const NormalForce& force = of_springs[k];
      const double part = plane.shares[k];
      add(triangle, {.value = part * force.value, .dX = part * force.dX, .dV = part * force.dV},
          of_spring(plane.springs[k]));
    }
    const std::array<NormalForce, 4> shares = friction_shares(corners, plane.centre_weight);
    for (std::size_t k = 0; k < 4; ++k) add(loads[plane.springs[k]], shares[k], triangle);
  }
  return loads;
}

}  // namespace heelstrike::fem
