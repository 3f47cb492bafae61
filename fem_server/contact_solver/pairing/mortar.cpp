/// Mortar contact of two deformable bodies, on the functions of a BodyInterface.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/detection/body_interface.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/pairing/contact_pairing.hpp"
#include "fem_server/contact_solver/pairing/solve_contact.hpp"

namespace heelstrike::fem {

namespace {

/// Of the shift between the surfaces, over the size of the body: the relative error of the force is of this order, and
/// a repeated evaluation of a committed state, which starts elsewhere, gives the same response.
constexpr double shift_tolerance = 1e-10;
/// The error of each pass decreases by a factor of the order of the shift over the size of the contact.
constexpr int max_matching_iterations = 20;
/// Shift of sticking nodes, over the size of the body, above which stick is unlikely: matching then starts without it.
constexpr double max_stick_motion = 0.1;

/// Derivatives of the weights of a point by the six coordinates of the pose.
using WeightChanges = std::array<std::vector<WeightedNodes::Entry>, 6>;

/// The same of all of an active point.
struct PlaceMotion {
  Vector6 gap;
  Vector6 area = Vector6::Zero();
  Matrix36 normal;
  Matrix36 point = Matrix36::Zero();
  WeightChanges on_A, on_B;
};

/// A point in front of a plane of B.
PlaceMotion plane_motion(const ContactNodeState& node, const Vector3& p_AB) {
  ContactNodeState undeformed = node;
  undeformed.u.setZero();
  return {.gap = -gap_wrench(undeformed, p_AB), .normal = normal_rotation(node, p_AB), .on_A = {}, .on_B = {}};
}

void add_entries(const std::vector<WeightedNodes::Entry>& from, double factor, std::vector<WeightedNodes::Entry>& to) {
  for (const auto& [node, weight] : from) to.emplace_back(node, factor * weight);
}

void set_difference(const InterfacePoint& before, const InterfacePoint& after, double by_step, Eigen::Index k,
                    PlaceMotion& motion) {
  motion.gap[k] = by_step * (after.gap - before.gap);
  motion.area[k] = by_step * (after.area - before.area);
  motion.normal.col(k) = by_step * (after.normal - before.normal);
  motion.point.col(k) = by_step * (after.point - before.point);
  const auto direction = static_cast<std::size_t>(k);
  for (const auto& [from, to, entries] : {std::tuple(&before.on_A, &after.on_A, &motion.on_A[direction]),
                                          {&before.on_B, &after.on_B, &motion.on_B[direction]}}) {
    add_entries(*from, -by_step, *entries);
    add_entries(*to, by_step, *entries);
    merge_entries(*entries);
  }
}

/// Forces on points of a body, and their derivatives.
struct PointForces {
  std::vector<Vector3> force;         ///< [N]
  std::vector<Matrix36> derivatives;  ///< explicit ones
};

/// Displacements [m] of nodes under loads [N] on the same nodes, ascending.
NodeFields<8> load_displacements(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                                 const NodeFields<8>& loads) {
  if (compliance.compressed() == nullptr) return displacement<8>(compliance, nodes, loads);
  std::vector<std::uint32_t> all(nodes.size());
  std::iota(all.begin(), all.end(), 0U);
  return displacement<8>(SurfaceCompliance(nodes.size(), compliance.compressed()->blocks(nodes)), all, loads);
}

/// Derivatives of the mean displacements of points of a body by its forces: of the weights in them, and of the loads of
/// the nodes by those of the weights and forces.
/// @param weights  of all near points; `positions` are those of the points
/// @param changes  of each point
std::vector<Matrix36> displacement_changes(const SurfaceCompliance& compliance, const WeightedNodes& weights,
                                           std::span<const std::uint32_t> positions,
                                           std::span<const WeightChanges* const> changes, const PointForces& forces) {
  std::vector<std::uint32_t> nodes;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (const auto& [node, weight] : weights.at(positions[i])) nodes.push_back(node);
    for (const auto& direction : *changes[i]) {
      for (const auto& [node, weight] : direction) nodes.push_back(node);
    }
  }
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  const auto row = [&](std::uint32_t node) {
    return row_of(static_cast<std::size_t>(std::ranges::lower_bound(nodes, node) - nodes.begin()));
  };
  constexpr Eigen::Index now = 6;  // column of the forces themselves
  NodeFields<8> loads = NodeFields<8>::Zero(row_of(nodes.size()), 8);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (const auto& [node, weight] : weights.at(positions[i])) {
      loads.block<3, 6>(row(node), 0) += weight * forces.derivatives[i];
      loads.block<3, 1>(row(node), now) += weight * forces.force[i];
    }
    for (std::size_t k = 0; k < 6; ++k) {
      for (const auto& [node, weight] : (*changes[i])[k]) {
        loads.block<3, 1>(row(node), static_cast<Eigen::Index>(k)) += weight * forces.force[i];
      }
    }
  }
  const NodeFields<8> u = load_displacements(compliance, nodes, loads);
  std::vector<Matrix36> result(positions.size(), Matrix36::Zero());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (const auto& [node, weight] : weights.at(positions[i])) result[i] += weight * u.block<3, 6>(row(node), 0);
    for (std::size_t k = 0; k < 6; ++k) {
      for (const auto& [node, weight] : (*changes[i])[k]) {
        result[i].col(static_cast<Eigen::Index>(k)) += weight * u.block<3, 1>(row(node), now);
      }
    }
  }
  return result;
}

/// Mean distance of B's points from those points of A that have moved to them: weighted by the pressure, tangential.
Vector3 mean_shift(const PairedContact& contact) {
  Vector3 sum = Vector3::Zero();
  double weights = 0.0;
  for (const ContactNodeState& node : contact.nodes) {
    const Vector3& n = node.surface.normal;
    sum += node.lambda * (node.u - n.dot(node.u) * n);
    weights += node.lambda;
  }
  return weights > 0.0 ? Vector3(sum / weights) : Vector3(Vector3::Zero());
}

/// Part of the work of the contact forces that deforms the partner.
double partner_work(const PairedContact& contact) {
  double both = 0.0;
  double partner = 0.0;
  for (const ContactNodeState& node : contact.nodes) {
    both += node.force().dot(node.u);
    partner -= node.force().dot(node.u_B);
  }
  return both > 0.0 ? partner / both : 0.0;
}

class MortarPairing final : public ContactPairing {
 public:
  using ContactPairing::ContactPairing;

  void detect(const CommittedContact& committed, const PairState& state, PairedContact& contact) const override {
    contact.node_gaps = begin(committed, state, contact).values;
    Interface interface =
        begin_between_bodies(*model_.interface, contact.node_gaps, state, model_.options, ball_.radius, contact);
    if (!contact.touches()) return;
    set_functions(committed, std::move(interface), contact);
    if (model_.options.friction > 0.0) {
      const Vector3 shift = stick_shift(committed, state, contact);
      if (!shift.isZero(0.0)) match(committed, state, shift, contact);
    }
    add_compliance(state, contact);
  }

  /// Repeats the matching with the surfaces shifted by the slip of the solution, until the shift converges.
  bool follow(const CommittedContact& committed, const PairState& state, int pass,
              PairedContact& contact) const override {
    if (model_.options.friction == 0.0) return false;
    const Vector3 shift = mean_shift(contact);
    const double change = (shift - contact.shift).norm();
    if (!(change > shift_tolerance * ball_.radius)) return false;
    if (pass == max_matching_iterations) {
      throw RecoverableError(fmt::format(
          "the matching of two sliding surfaces did not converge: after {} passes they still move by {} m, at t = "
          "{} s; use a smaller step",
          max_matching_iterations, change, state.t));
    }
    match(committed, state, shift, contact);
    if (contact.near.deepest() == 0.0) return false;
    add_compliance(state, contact);
    return true;
  }

  void displace_partner(const PairState& state, PairedContact& contact) const override {
    for (const std::uint32_t i : contact.contact_positions) {
      if (contact.on_partner.outside[i]) reject_unknown_point(contact.points[i]);
    }
    displace_by_share(state, contact);
  }

  [[nodiscard]] std::optional<PointMotion> point_motion(const PairState& state,
                                                        const PairedContact& contact) const override {
    const std::vector<PlaceMotion> places = place_motions(state, contact);
    const std::size_t m = places.size();
    const Matrix3 R_BA = state.X_AB.R.transpose();
    PointMotion motion;
    PointForces on_A, on_B;
    std::vector<const WeightChanges*> changes_A, changes_B;
    for (std::size_t i = 0; i < m; ++i) {
      const ContactNodeState& node = contact.nodes[i];
      const PlaceMotion plane = plane_motion(node, state.X_AB.p);
      const Matrix36 normal = places[i].normal - plane.normal;
      Vector6 gap = places[i].gap - plane.gap + normal.transpose() * node.u;
      if (!contact.near.penalty.empty()) {
        // The gap is -sqrt(lambda / K), and K is proportional to the area.
        const double penalty = contact.near.penalty[contact.contact_positions[i]];
        gap -= 0.5 * std::sqrt(node.lambda / penalty) / node.area * places[i].area;
      }
      motion.gap.emplace_back(gap.transpose());
      motion.normal.push_back(normal);
      motion.x.push_back(places[i].point);
      on_A.force.push_back(node.force());
      on_A.derivatives.push_back(node.lambda * normal);
      on_B.force.emplace_back(-(R_BA * on_A.force[i]));
      on_B.derivatives.push_back(-R_BA * on_A.derivatives[i]);
      changes_A.push_back(&places[i].on_A);
      changes_B.push_back(&places[i].on_B);
    }
    motion.u = displacement_changes(model_.compliance, contact.on_main, contact.contact_positions, changes_A, on_A);
    motion.u_B = displacement_changes(model_.deformable->compliance(), contact.on_partner.nodes,
                                      contact.contact_positions, changes_B, on_B);
    for (std::size_t i = 0; i < m; ++i) {
      motion.u_B[i] = state.X_AB.R * motion.u_B[i];
      motion.u[i] -= motion.u_B[i];
    }
    return motion;
  }

  [[nodiscard]] std::function<StickPoint(std::uint32_t)> stick_points(const CommittedContact& committed,
                                                                      const PairState& state,
                                                                      const PairedContact& contact) const override {
    return [&](std::uint32_t i) {
      const std::uint32_t candidate = contact.near_candidates[i];
      const Vector3& x = contact.points[i];
      StickPointHistory history = stick_point_history(committed, candidate);
      // The mean position of the function moves with the part of it opposite to B: the stored value is the offset of
      // the stick point from the undeformed node.
      if (history.p_BStick) *history.p_BStick += history.X_AB->R.transpose() * (x - model_.points[candidate]);
      const Pose X_BA = state.X_AB.inverse();
      const SurfacePoint& surface = contact.surface[i];
      const auto gap_at = [&](const Vector3& p_BQ) {
        return surface.gap + surface.normal.dot(state.X_AB.R * (p_BQ - X_BA * x));
      };
      return stick_point_of(history, gap_at, state.X_AB, x, surface);
    };
  }

  [[nodiscard]] Response response(const PairedContact& contact, const std::optional<double>& approach_velocity,
                                  const PairState& state) const override {
    Response response = interface_response(contact, interface_contact(contact, state), model_.options, model_.regions,
                                           approach_velocity, state);
    response.stored_energy += contact.penalty_energy;
    return response;
  }

  [[nodiscard]] std::vector<Vector3> on_candidates(const PairedContact& contact,
                                                   std::span<const Vector3> values) const override {
    return contact.on_main.distributed(contact.contact_positions, values, model_.points.size());
  }

  [[nodiscard]] std::optional<NodalPressure> pressure_of_both(const PairedContact& contact, const PairState& state,
                                                              const Eigen::MatrixXd& forces) const override {
    return interface_pressure(interface_contact(contact, state), forces);
  }

 private:
  void set_functions(const CommittedContact& committed, Interface interface, PairedContact& contact) const {
    contact.topology = std::move(interface.topology);
    for (const InterfacePoint& place : interface.places) {
      const CommittedNode* before = committed.find(place.node);
      if (place.gap > -contact.gap && (before == nullptr || !before->loaded())) continue;
      contact.add_point(place.node, before, {.gap = place.gap, .normal = place.normal}, place.point, place.area);
      if (model_.options.penalty > 0.0) contact.near.penalty.push_back(model_.options.penalty * place.area);
      contact.on_main.add_place(place.on_A);
      contact.on_partner.nodes.add_place(place.on_B);
      contact.on_partner.outside.push_back(place.outside);
    }
  }

  /// Of the active points, by central differences of the interface.
  [[nodiscard]] std::vector<PlaceMotion> place_motions(const PairState& state, const PairedContact& contact) const {
    std::vector<PlaceMotion> motions;
    for (const ContactNodeState& node : contact.nodes) motions.push_back(plane_motion(node, state.X_AB.p));
    for (Eigen::Index k = 0; k < 6; ++k) {
      const double h = interface_difference_step * -contact.gap / (k < 3 ? ball_.radius : 1.0);
      std::array<std::vector<InterfacePoint>, 2> ends;
      for (const std::size_t end : {0U, 1U}) {
        const Vector6 step = (end == 0 ? -h : h) * Vector6::Unit(k);
        const Pose X_AB{.R = rotation_from_vector(step.head<3>()) * state.X_AB.R, .p = state.X_AB.p + step.tail<3>()};
        ends[end] = model_.interface->at_nearby(X_AB, contact.topology, contact.shift);
      }
      for (std::size_t i = 0; i < motions.size(); ++i) {
        const std::uint32_t node = contact.near_candidates[contact.contact_positions[i]];
        const InterfacePoint* before = find_interface_point(ends[0], node);
        const InterfacePoint* after = find_interface_point(ends[1], node);
        if (before != nullptr && after != nullptr) set_difference(*before, *after, 0.5 / h, k, motions[i]);
      }
    }
    return motions;
  }

  /// The functions of the interface at a shift; discards the solution.
  void match(const CommittedContact& committed, const PairState& state, const Vector3& shift,
             PairedContact& contact) const {
    contact.discard_points();
    contact.statistics = {};
    contact.shift = shift;
    set_functions(committed, model_.interface->at(state.X_AB, contact.node_gaps, shift), contact);
  }

  /// Initial shift of B: the triangles are matched at the deformed positions, which differ by this shift. A sticking
  /// node determines it before any solution.
  [[nodiscard]] Vector3 stick_shift(const CommittedContact& committed, const PairState& state,
                                    const PairedContact& contact) const {
    const auto stick_point = stick_points(committed, state, contact);
    Vector3 sum = Vector3::Zero();
    double weights = 0.0;
    for (std::uint32_t i = 0; i < contact.points.size(); ++i) {
      const Vector3& n = contact.near.normals[i];
      const double weight = contact.areas[i] * std::max(-contact.near.gaps[i], 0.0);
      if (weight == 0.0) continue;
      const Vector3 ahead = stick_point(i).p_AP - contact.points[i];
      sum += weight * (ahead - n.dot(ahead) * n);
      weights += weight;
    }
    if (weights == 0.0 || sum.norm() > max_stick_motion * ball_.radius * weights) return Vector3::Zero();
    return sum / weights;
  }

  void add_compliance(const PairState& state, PairedContact& contact) const {
    if (!contact.points.empty()) add_partner(weighted(model_.compliance, contact.on_main), state, contact);
  }

  /// Refers to the contact.
  [[nodiscard]] InterfaceContact interface_contact(const PairedContact& contact, const PairState& state) const {
    return {.on_A = &contact.on_main,
            .on_B = &contact.on_partner.nodes,
            .areas = contact.areas,
            .nodes = contact.near_candidates,
            .normals = contact.near.normals,
            .touching = contact.contact_positions,
            .recovery_A = &model_.pressure,
            .recovery_B = &model_.partner_pressure,
            .R_AB = state.X_AB.R,
            .partner_work = partner_work(contact)};
  }
};

}  // namespace

std::unique_ptr<ContactPairing> mortar_pairing(PairingModel model) {
  return std::make_unique<MortarPairing>(std::move(model));
}

}  // namespace heelstrike::fem
