#include "fem_server/backends/elastic_foundation/foundation_contact.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/backend_interface/field_request.hpp"
#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {

namespace {

FieldGrid grid_of(const SurfaceMesh& mesh, const Pose& X_WM) {
  FieldGrid grid;
  for (const Vector3& p : mesh.vertices) grid.points.push_back(X_WM * p);
  for (const Triangle& t : mesh.triangles) grid.connectivity.insert(grid.connectivity.end(), t.begin(), t.end());
  return grid;
}

MeshField values(std::string name, std::string unit, std::vector<double> values_of_all) {
  return {.name = std::move(name), .unit = std::move(unit), .n_components = 1, .values = std::move(values_of_all)};
}

/// Values in the centres as the area-weighted mean of the faces around each point.
std::vector<double> around_points(const CastingSurface& casting, const std::vector<double>& of_faces) {
  const SurfaceMesh& mesh = casting.mesh();
  std::vector<double> sum(mesh.vertices.size(), 0.0);
  std::vector<double> area(mesh.vertices.size(), 0.0);
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    for (const std::uint32_t v : mesh.triangles[t]) {
      sum[v] += casting.area(t) * of_faces[t];
      area[v] += casting.area(t);
    }
  }
  for (std::size_t v = 0; v < sum.size(); ++v) sum[v] = area[v] > 0.0 ? sum[v] / area[v] : 0.0;
  return sum;
}

/// Values at the springs.
struct SpringValues {
  std::vector<double> pressure;  ///< [Pa]
  std::vector<double> depth;     ///< [m] penetration

  SpringValues(const SpringBed& bed, const BedState& loads, const Vector6& V_CT, double dissipation)
      : pressure(bed.casting().springs().size(), 0.0), depth(pressure) {
    for (std::size_t k = 0; k < loads.springs.size(); ++k) {
      const ActiveSpring& loaded = loads.springs[k];
      const std::uint32_t i = loaded.spring;
      if (!loaded.is_loaded()) continue;
      depth[i] = loaded.motion.d;
      pressure[i] = std::max(0.0, 1.0 + dissipation * loaded.motion.rate.dot(V_CT)) * bed.pressure(loads, k);
    }
  }
};

/// Values of triangles.
struct FaceValues {
  std::vector<double> pressure;  ///< [Pa] mean over the whole triangle
  std::vector<double> area;      ///< [m^2] loaded
  std::vector<double> depth;     ///< [m] maximum penetration

  FaceValues(const CastingSurface& casting, const BedState& loads, const SpringValues& springs, double dissipation,
             const Vector6& V_CT)
      : pressure(casting.mesh().triangles.size(), 0.0), area(pressure), depth(pressure) {
    for (std::size_t f = 0; f < loads.faces.size(); ++f) {
      const ActiveFace& face = loads.faces[f];
      const std::uint32_t t = face.triangle;
      const auto& [a, b, c] = casting.mesh().triangles[t];
      const bool at_vertices = casting.places() == SpringPlaces::vertices;
      const std::uint32_t centre = at_vertices ? casting.centre_spring(t) : t;
      pressure[t] = face_factor(loads, f, dissipation, V_CT) * face.pressure;
      area[t] = face.area;
      depth[t] = springs.depth[centre];
      if (at_vertices) depth[t] = std::max({depth[t], springs.depth[a], springs.depth[b], springs.depth[c]});
    }
  }
};

}  // namespace

std::string write_casting_fields(const SpringBed& bed, const BedState& loads, const PairState& state, const Pose& X_WC,
                                 const CastingFields& casting_fields, const FieldRequest& request) {
  check_quantities(request);
  const CastingSurface& casting = bed.casting();
  const SurfaceMesh& mesh = casting.mesh();
  std::vector<MeshField> of_points;
  std::vector<MeshField> of_cells{part_of_cells(request.part, mesh.triangles.size())};
  if (is_requested(request, "contact_pressure")) {
    SpringValues springs(bed, loads, state.V_AB.vector(), casting_fields.dissipation);
    FaceValues faces(casting, loads, springs, casting_fields.dissipation, state.V_AB.vector());
    if (casting.places() == SpringPlaces::centres) {
      springs.pressure = around_points(casting, faces.pressure);
      springs.depth = around_points(casting, faces.depth);
    }
    springs.pressure.resize(mesh.vertices.size());
    springs.depth.resize(mesh.vertices.size());
    of_points.push_back(values("contact_pressure", "Pa", std::move(springs.pressure)));
    of_points.push_back(values("penetration", "m", std::move(springs.depth)));
    of_cells.push_back(values("contact_pressure", "Pa", std::move(faces.pressure)));
    of_cells.push_back(values("loaded_area", "m^2", std::move(faces.area)));
    of_cells.push_back(values("penetration", "m", std::move(faces.depth)));
  }
  for (const SurfaceRegion& region : casting_fields.regions) {
    of_cells.push_back(values("region:" + region.name, "", {region.triangles.begin(), region.triangles.end()}));
  }
  return write_fields(grid_of(mesh, X_WC), of_points, of_cells);
}

std::string write_target(const SpringBed& bed, const PartnerShape& target, const Pose& X_CT, const Pose& X_WC,
                         const FieldRequest& request) {
  check_quantities(request);
  const SurfaceMesh& mesh = bed.casting().mesh();
  Vector3 low = mesh.vertices.front();
  Vector3 high = low;
  for (const Vector3& p : mesh.vertices) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  const SurfaceMesh shape = target.triangles(X_CT.inverse() * (0.5 * (low + high)), (high - low).maxCoeff());
  return write_fields(grid_of(shape, X_WC * X_CT), {}, {part_of_cells(request.part, shape.triangles.size())});
}

namespace {

/// Starting a thread costs about as much as a hundred springs.
constexpr std::size_t min_springs_per_thread = 500;

const StickSpring* find(const FoundationHistory& history, std::uint32_t spring) {
  const auto found = std::ranges::lower_bound(history.springs, spring, {}, &StickSpring::spring);
  return found != history.springs.end() && found->spring == spring ? &*found : nullptr;
}

/// Force at a point as a wrench about T's origin.
Vector6 wrench_at(const Vector3& arm, const Vector3& force) {
  return (Vector6() << arm.cross(force), force).finished();
}

/// Moves wrench and tangents from T's origin to C's; T's origin moves with the pose.
void move_to_casting_origin(const Vector3& p_CT, Response& r) {
  r.dF_A_dX.topRows<3>() += skew(p_CT) * r.dF_A_dX.bottomRows<3>();
  r.dF_A_dX.topRightCorner<3, 3>() -= skew(r.F_A.force);
  r.dF_A_dV.topRows<3>() += skew(p_CT) * r.dF_A_dV.bottomRows<3>();
  r.F_A.torque += p_CT.cross(r.F_A.force);
}

}  // namespace

/// Sums over the springs: wrench on C about T's origin.
struct FoundationContact::Sum {
  Vector6 wrench = Vector6::Zero();
  Matrix6 dX = Matrix6::Zero();
  Matrix6 dV = Matrix6::Zero();
  WrenchRotationSum rotated;
  double friction_energy = 0.0;
  double slip_work = 0.0;
  SlipSpeed slip_speed;
  double dissipated_power = 0.0;
  std::vector<double> pressures;  ///< [Pa] of each spring; empty without regions
  std::vector<StickSpring> stored;
};

/// Elastic spring forces with dissipation.
struct FoundationContact::Damping {
  std::vector<NormalForce> forces;  ///< of each spring, including the elastic part; empty = no dissipation
  std::vector<double> factors;      ///< [-] of the pressure of each spring
};

FoundationContact::FoundationContact(std::string name, SpringBed bed, PartnerShape target, FoundationOptions options,
                                     ParameterMap parameters)
    : ContactBackend({.parameters = std::move(parameters),
                      .history_independent = !(options.friction > 0.0),
                      .expensive = bed.casting().springs().size() >= min_springs_per_thread,
                      .regions = region_names(options.regions)}),
      name_(std::move(name)),
      bed_(std::move(bed)),
      target_(std::move(target)),
      options_(std::move(options)) {}

std::shared_ptr<const History> FoundationContact::load_history(std::string_view bytes) const {
  auto history = FoundationHistory::load(bytes, name_);
  const auto& stored = history->springs;
  const std::size_t n_springs = bed_.casting().springs().size();
  const bool ascending =
      std::ranges::adjacent_find(stored, std::ranges::greater_equal{}, &StickSpring::spring) == stored.end();
  if (!ascending || (!stored.empty() && (!history->X_CT || stored.back().spring >= n_springs))) {
    throw input_error(
        "state", fmt::format("history of back-end '{}': expected a pose and ascending springs below {}; these bytes "
                             "are damaged or belong to another surface",
                             name_, n_springs));
  }
  return history;
}

PairState FoundationContact::to_casting_frame(const PairState& state) const {
  if (options_.casting_is_main) return state;
  const Matrix3 R_BA = state.X_AB.R.transpose();
  return {.t = state.t,
          .X_AB = state.X_AB.inverse(),
          .V_AB = {.w = -(R_BA * state.V_AB.w), .v = -(R_BA * (state.V_AB.v - state.V_AB.w.cross(state.X_AB.p)))}};
}

Response FoundationContact::to_main_frame(const Response& r, const PairState& state) const {
  if (options_.casting_is_main) return r;
  const Pose& X = state.X_AB;
  const Matrix3 R_BA = X.R.transpose();
  Response result = r;
  result.F_A = opposite_wrench(r.F_A, {.R = R_BA, .p = -(R_BA * X.p)});
  result.p_ACop = X * r.p_ACop;
  for (RegionLoad& region : result.regions) {
    if (region.force > 0.0) region.p_ACop = X * region.p_ACop;
  }
  // A small motion of B in A, and the twist, expressed as those of A in B.
  Matrix6 M = Matrix6::Zero();
  M.topLeftCorner<3, 3>() = -R_BA;
  M.bottomLeftCorner<3, 3>() = -R_BA * skew(X.p);
  M.bottomRightCorner<3, 3>() = -R_BA;
  // The wrench on B about its origin, converted to the one on A about A's.
  Matrix6 S = Matrix6::Zero();
  S.topLeftCorner<3, 3>() = -X.R;
  S.topRightCorner<3, 3>() = -skew(X.p) * X.R;
  S.bottomRightCorner<3, 3>() = -X.R;
  result.dF_A_dV = S * r.dF_A_dV * M;
  // A constant twist in A rotates with B when expressed in B.
  const Twist& V = state.V_AB;
  Matrix6 dtwist = Matrix6::Zero();
  dtwist.topLeftCorner<3, 3>() = -R_BA * skew(V.w);
  dtwist.bottomLeftCorner<3, 3>() = -R_BA * skew(V.v - V.w.cross(X.p));
  dtwist.bottomRightCorner<3, 3>() = R_BA * skew(V.w);
  result.dF_A_dX = S * (r.dF_A_dX * M + r.dF_A_dV * dtwist);
  // S rotates and moves with B.
  const Vector3 f = result.F_A.force;
  const Vector3 torque_about_B = result.F_A.torque - X.p.cross(f);
  result.dF_A_dX.topLeftCorner<3, 3>() -= skew(torque_about_B) + skew(X.p) * skew(f);
  result.dF_A_dX.topRightCorner<3, 3>() -= skew(f);
  result.dF_A_dX.bottomLeftCorner<3, 3>() -= skew(f);
  return result;
}

/// Springs at the vertices: the corners of the planes carry forces >= 0, each damped with the rate of its own depth, so
/// that no power is negative. For the force of a spring, a sum over several corners with both signs, this would fail.
void FoundationContact::damp_planes(const BedState& bed, const Vector6& V_CT, Damping& damping) const {
  for (const ActivePlane& plane : bed.planes) {
    const auto of_springs = spring_forces(corner_forces(bed, plane, options_.dissipation, V_CT), plane.centre_weight);
    for (std::size_t k = 0; k < 4; ++k) {
      NormalForce& damped = damping.forces[plane.springs[k]];
      damped.value += plane.shares[k] * of_springs[k].value;
      if (bed.slopes.empty()) continue;
      damped.dX += plane.shares[k] * of_springs[k].dX;
      damped.dV += plane.shares[k] * of_springs[k].dV;
    }
  }
}

FoundationContact::Damping FoundationContact::damping_of(const BedState& bed, const Vector6& V_CT) const {
  Damping damping;
  if (!(options_.dissipation > 0.0)) return damping;
  damping.forces.resize(bed.springs.size());
  for (const ActiveSpring& loaded : bed.springs) {
    damping.factors.push_back(std::max(0.0, 1.0 + options_.dissipation * loaded.motion.rate.dot(V_CT)));
  }
  if (bed_.casting().places() == SpringPlaces::vertices) {
    damp_planes(bed, V_CT, damping);
  } else {
    for (std::size_t i = 0; i < bed.springs.size(); ++i) {
      damping.forces[i] = centre_force(bed, i, options_.dissipation, V_CT);
    }
  }
  return damping;
}

// Adds tangents and dissipation of one spring and returns its normal force.
double FoundationContact::add_changes(const BedState& bed, std::size_t i, const Damping& damping,
                                      const PairState& state, Sum& sum) const {
  const ActiveSpring& loaded = bed.springs[i];
  const SpringKinematics& motion = loaded.motion;
  const bool tangents = !bed.slopes.empty();
  NormalForce normal{.value = loaded.force};
  if (tangents) normal.dX = bed.slopes[i].dforce.transpose();
  if (!damping.forces.empty()) {
    normal = damping.forces[i];
    if (tangents) sum.dV.noalias() += motion.wrench * normal.dV;
    sum.dissipated_power += (normal.value - loaded.force) * motion.rate.dot(state.V_AB.vector());
  }
  if (tangents) {
    sum.dX.noalias() += motion.wrench * normal.dX;
    if (loaded.flat) {
      sum.rotated.add(bed_.casting().springs()[loaded.spring], motion, state.X_AB.p, normal.value);
    } else {
      sum.dX += normal.value * bed.dwrench[loaded.bent];
    }
  }
  return normal.value;
}

SpringStickPoint FoundationContact::find_stick_point(const BedState& bed, std::size_t i,
                                                     const FoundationHistory& history, const Pose& X_CT) const {
  const ActiveSpring& loaded = bed.springs[i];
  const Spring& spring = bed_.casting().springs()[loaded.spring];
  if (const StickSpring* stored = find(history, loaded.spring))
    return transform_stick_point(*stored, *history.X_CT, X_CT);
  if (!history.X_CT) return {.p_C = spring.point, .transported = spring.point};
  const Vector6 dd = bed.slopes.empty() ? Vector6(Vector6::Zero()) : bed.slopes[i].dd;
  return onset_point(spring, bed_.gap(loaded.spring, *history.X_CT), loaded.motion.d, dd, *history.X_CT, X_CT);
}

double FoundationContact::shear_stiffness(std::uint32_t spring, double target_thickness) const {
  const double stiffness = options_.shear_stiffness[spring];
  if (options_.shear_compliance_slope.empty()) return stiffness;
  return 1.0 / (1.0 / stiffness + options_.shear_compliance_slope[spring] * target_thickness);
}

void FoundationContact::add_layer(const BedState& bed, std::size_t i, double slope, const RowVector6& by_pose,
                                  const RowVector6& by_twist, Sum& sum) const {
  if (bed_.options().direction != ForceDirection::energy) return;
  const Vector6& dh = bed.layers[i].motion.dh;
  sum.wrench += slope * dh;
  if (bed.ddh.empty()) return;
  sum.dX += dh * by_pose + slope * bed.ddh[i];
  sum.dV += dh * by_twist;
}

void FoundationContact::add_friction(const BedState& bed, const FoundationHistory& history, const PairState& state,
                                     Sum& sum) const {
  const auto loads = friction_loads(bed_, bed, options_.dissipation, state.V_AB.vector());
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i].force.squaredNorm() > 0.0) add_traction(bed, i, loads[i], history, state, sum);
  }
}

void FoundationContact::add_traction(const BedState& bed, std::size_t i, const FrictionLoad& load,
                                     const FoundationHistory& history, const PairState& state, Sum& sum) const {
  const Pose& X_CT = state.X_AB;
  const ActiveSpring& loaded = bed.springs[i];
  const Spring& spring = bed_.casting().springs()[loaded.spring];
  const double thickness = bed.layers.empty() ? 0.0 : bed.layers[i].motion.h;
  const double stiffness = shear_stiffness(loaded.spring, thickness);
  const SpringStickPoint stored = find_stick_point(bed, i, history, X_CT);
  BedTraction t = bed_traction(spring, stiffness, options_.friction, load, stored);
  if (!bed.layers.empty()) {
    // A force f on the shear compliance 1 / k stores f^2 / (2 k), where 1 / k increases with T's thickness.
    const double softness = options_.shear_compliance_slope[loaded.spring];
    if (!t.slips) t.dX -= softness * stiffness * t.force * bed.layers[i].motion.dh.transpose();
    add_layer(bed, i, -0.5 * softness * t.force.squaredNorm(), -softness * t.force.transpose() * t.dX,
              -softness * t.force.transpose() * t.dV, sum);
  }
  const Vector3 arm = spring.point - X_CT.p;
  const Matrix3 lever = skew(arm);
  sum.wrench += wrench_at(arm, t.force);
  sum.dX.topRows<3>() += lever * t.dX;
  sum.dX.topRightCorner<3, 3>() += skew(t.force);
  sum.dX.bottomRows<3>() += t.dX;
  sum.dV.topRows<3>() += lever * t.dV;
  sum.dV.bottomRows<3>() += t.dV;
  sum.friction_energy += t.stored_energy;
  sum.slip_work += t.slip_work;
  sum.slip_speed.add(stiffness * along_surface(t.normal, stored.transported - spring.point), stored.limit_before,
                     point_velocity(state.V_AB, arm));
  sum.stored.push_back({.spring = loaded.spring,
                        .p_TStick = X_CT.inverse() * t.stored,
                        .normal_T = X_CT.R.transpose() * t.normal,
                        .limit = t.limit});
}

/// Springs that were loaded and no longer are. @pre sum.stored ascending
double FoundationContact::compute_released_slip_work(const Sum& sum, const FoundationHistory& history,
                                                     const Pose& X_CT) const {
  double work = 0.0;
  for (const StickSpring& before : history.springs) {
    const auto found = std::ranges::lower_bound(sum.stored, before.spring, {}, &StickSpring::spring);
    if (found != sum.stored.end() && found->spring == before.spring) continue;
    const double thickness = bed_.target_thickness(before.spring, *history.X_CT);
    work += released_slip_work(bed_.casting().springs()[before.spring], shear_stiffness(before.spring, thickness),
                               X_CT.R * before.normal_T, transform_stick_point(before, *history.X_CT, X_CT));
  }
  return work;
}

/// @throws RecoverableError if the bodies overlap by more than the allowed depth and no spring detects it
void FoundationContact::check_undetected_penetration(const Pose& X_CT) const {
  const auto undetected = bed_.find_undetected_penetration(X_CT, options_.max_undetected_penetration);
  if (!undetected) return;
  const std::string& where = bed_.options().where;
  throw RecoverableError(
      fmt::format(
          "{}: the surfaces overlap by {:g} m at ({:g}, {:g}, {:g}) m of the casting body, between springs that "
          "are {:g} m away, and none of them detects it: the force would be 0 N; divide the triangles of the "
          "casting surface with {}.parameters.refine, use a finer mesh, or let the other body carry the springs "
          "with spring_body",
          where, undetected->depth, undetected->point.x(), undetected->point.y(), undetected->point.z(),
          undetected->spacing, where),
      where);
}

Response FoundationContact::separated_response(const PairState& state) const {
  check_undetected_penetration(state.X_AB);
  const NearestSpring nearest = bed_.nearest(state.X_AB);
  Response r;
  r.gap = -nearest.motion.d;
  r.gap_rate = -nearest.motion.rate.dot(state.V_AB.vector());
  r.p_ACop = bed_.casting().springs()[nearest.spring].point;
  return r;
}

// Sums over the faces as in the fields: mean pressure of a face times its area.
std::vector<RegionLoad> FoundationContact::region_loads(const BedState& bed, const Vector6& V_CT,
                                                        const std::vector<double>& pressures) const {
  const CastingSurface& casting = bed_.casting();
  std::vector<RegionLoad> loads(options_.regions.size());
  for (std::size_t f = 0; f < bed.faces.size(); ++f) {
    const ActiveFace& face = bed.faces[f];
    if (!(face.area > 0.0)) continue;
    const double factor = face_factor(bed, f, options_.dissipation, V_CT);
    const auto& [a, b, c] = casting.mesh().triangles[face.triangle];
    const auto& vertices = casting.mesh().vertices;
    const double force = factor * face.pressure * casting.area(face.triangle);
    const Vector3 moment = force / 3.0 * (vertices[a] + vertices[b] + vertices[c]);
    double peak = options_.dissipation > 0.0 ? force / face.area : 0.0;
    for (const std::uint32_t i : face.springs) peak = std::max(peak, pressures[i]);
    for (std::size_t r = 0; r < loads.size(); ++r) {
      if (!options_.regions[r].triangles[face.triangle]) continue;
      loads[r].force += force;
      loads[r].area += face.area;
      loads[r].peak_pressure = std::max(loads[r].peak_pressure, peak);
      loads[r].p_ACop += moment;
    }
  }
  for (RegionLoad& load : loads) {
    if (load.force > 0.0) load.p_ACop /= load.force;
  }
  return loads;
}

BedState FoundationContact::loads_at(const Pose& X_CT, bool tangents) const {
  BedState bed = bed_.at(X_CT, tangents);
  if (options_.square) options_.square->check(X_CT);
  return bed;
}

Response FoundationContact::make_response(const BedState& bed, const FoundationHistory& history, const PairState& state,
                                          std::vector<StickSpring>* stored) const {
  Sum sum;
  const Vector6 V = state.V_AB.vector();
  if (!options_.regions.empty()) sum.pressures.assign(bed.springs.size(), 0.0);
  const bool elastic = bed.slopes.empty() && !(options_.dissipation > 0.0) && !(options_.friction > 0.0);
  Vector6 wrench = Vector6::Zero();
  Vector3 moment = Vector3::Zero();  // [N m] points weighted by normal forces
  double total = 0.0;                // [N] of the normal forces
  const Damping damping = damping_of(bed, V);
  moment += bed.between_moment;
  total += bed.between_force;
  // With dissipation the planes over the triangles at the edges count, below.
  double peak = damping.factors.empty() ? bed.rim_peak : 0.0;
  for (std::size_t i = 0; i < bed.springs.size(); ++i) {
    const ActiveSpring& loaded = bed.springs[i];
    const double force = elastic ? loaded.force : add_changes(bed, i, damping, state, sum);
    wrench += force * loaded.motion.wrench;
    moment += force * bed_.casting().springs()[loaded.spring].point;
    total += force;
    if (loaded.is_loaded() && loaded.force > 0.0) {
      const double pressure = bed_.pressure(bed, i) * (damping.factors.empty() ? 1.0 : damping.factors[i]);
      peak = std::max(peak, pressure);
      if (!sum.pressures.empty()) sum.pressures[i] = pressure;
    }
  }
  if (options_.friction > 0.0) add_friction(bed, history, state, sum);
  // Damping acts on the planes over triangles, whose mean may exceed the pressures of their springs.
  for (std::size_t f = 0; f < bed.faces.size() && options_.dissipation > 0.0; ++f) {
    const ActiveFace& face = bed.faces[f];
    if (!(face.area > 0.0)) continue;
    const double force =
        face_factor(bed, f, options_.dissipation, V) * face.pressure * bed_.casting().area(face.triangle);
    peak = std::max(peak, force / face.area);
  }
  for (std::size_t i = 0; i < bed.layers.size(); ++i) {
    add_layer(bed, i, bed.layers[i].slope, bed.layers[i].dslope.transpose(), RowVector6::Zero(), sum);
  }
  sum.wrench += wrench + bed.rim_wrench;
  sum.dX += sum.rotated.sum() + bed.rim_dwrench;
  std::ranges::sort(sum.stored, {}, &StickSpring::spring);
  const bool is_between = bed.between_deepest.d > bed.deepest;
  const bool in_contact = bed.compressed > 0 || is_between;
  Response r = in_contact ? Response{} : separated_response(state);
  r.dissipated_increment = sum.slip_work + compute_released_slip_work(sum, history, state.X_AB);
  if (stored != nullptr) *stored = std::move(sum.stored);
  r.regions.resize(options_.regions.size());
  if (!in_contact) return r;
  r.F_A = {.torque = sum.wrench.head<3>(), .force = sum.wrench.tail<3>()};
  r.dF_A_dX = sum.dX;
  r.dF_A_dV = sum.dV;
  move_to_casting_origin(state.X_AB.p, r);
  const SpringKinematics& deepest = is_between ? bed.between_deepest : bed.springs[bed.deepest_spring].motion;
  r.gap = -deepest.d;
  r.gap_rate = -deepest.rate.dot(V);
  r.area = bed.area;
  r.p_ACop =
      total > 0.0 ? Vector3(moment / total) : bed_.casting().springs()[bed.springs[bed.deepest_spring].spring].point;
  r.peak_pressure = peak;
  r.normal_force = total;
  r.stored_energy = bed.energy + sum.friction_energy;
  r.dissipated_power = sum.dissipated_power;
  r.slip_speed = sum.slip_speed.value();
  r.statistics.active_points = static_cast<int>(bed.compressed);
  if (!options_.regions.empty()) r.regions = region_loads(bed, V, sum.pressures);
  return r;
}

Response FoundationContact::evaluate(const History& history, const PairState& state,
                                     const EvaluateOptions& options) const {
  const PairState casting = to_casting_frame(state);
  const FoundationHistory& last = FoundationHistory::from(history);
  const BedState bed = loads_at(casting.X_AB, options.tangents);
  return to_main_frame(make_response(bed, last, casting, nullptr), state);
}

Committed FoundationContact::commit(const History& history, const PairState& state,
                                    const EvaluateOptions& options) const {
  const PairState casting = to_casting_frame(state);
  const FoundationHistory& last = FoundationHistory::from(history);
  const BedState bed = loads_at(casting.X_AB, options.tangents);
  auto next = FoundationHistory::of_backend(name_);
  const Response step = make_response(bed, last, casting, &next->springs);
  if (!(options_.friction > 0.0)) return {.history = std::move(next), .response = to_main_frame(step, state)};
  next->X_CT = casting.X_AB;
  Response response = to_main_frame(make_response(bed, *next, casting, nullptr), state);
  response.dissipated_increment = step.dissipated_increment;
  return {.history = std::move(next), .response = response};
}

std::string FoundationContact::fields(const History& /*history*/, const PairState& state,
                                      const FieldRequest& request) const {
  const PairState casting = to_casting_frame(state);
  const bool is_casting = (request.part == FieldPart::main) == options_.casting_is_main;
  const Pose X_WC = options_.casting_is_main ? request.X_WA : request.X_WA * state.X_AB;
  if (is_casting)
    return write_casting_fields(bed_, loads_at(casting.X_AB, false), casting, X_WC,
                                {.dissipation = options_.dissipation, .regions = options_.regions}, request);
  return write_target(bed_, target_, casting.X_AB, X_WC, request);
}

}  // namespace heelstrike::fem
