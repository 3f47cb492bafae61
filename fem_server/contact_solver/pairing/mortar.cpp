/// Mortar contact of two deformable bodies, on the functions of a BodyInterface.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/detection/body_interface.hpp"
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
    const Interface interface =
        begin_between_bodies(*model_.interface, contact.node_gaps, state, model_.options, ball_.radius, contact);
    if (!contact.touches()) return;
    set_functions(committed, interface, contact);
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
  void set_functions(const CommittedContact& committed, const Interface& interface, PairedContact& contact) const {
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
