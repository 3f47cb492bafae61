/// Contact of a condensed body with a rigid cloud of penetrating points.
///
/// The problem is that of two bodies with swapped roles: the points of the cloud are the contact nodes, the body is the
/// deformable partner. CondensedContact solves it in the cloud's frame; this class transforms poses, wrenches and
/// tangents. The distance of the points to the body is exact, or optionally its approximate distance function
/// [melo2023, section 4.4].
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/fem_condensed/condensed_contact.hpp"

namespace heelstrike::fem {

/// State of the swapped pair: pose and twist of A in B. @param state  of B in A
[[nodiscard]] PairState swap_roles(const PairState& state);

/// The response of the pair from that of the swapped pair. @param state  of B in A
[[nodiscard]] Response restore_roles(const Response& on_B, const PairState& state);

class CloudContact final : public ContactBackend {
 public:
  /// @param cloud_on_body  main: the cloud; partner: the body
  explicit CloudContact(std::unique_ptr<CondensedContact> cloud_on_body)
      : ContactBackend(
            {.parameters = cloud_on_body->traits().parameters, .expensive = cloud_on_body->traits().expensive}),
        inner_(std::move(cloud_on_body)) {}

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override { return inner_->initial_history(); }
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override {
    return inner_->load_history(bytes);
  }
  /// The body with all quantities; the cloud as points.
  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

 private:
  std::unique_ptr<CondensedContact> inner_;
};

/// Maximum fraction of the body's energy stored in the points, see find_cloud_compliance.
constexpr double cloud_energy_fraction = 1e-3;

/// [m/N] Compliance of a point of a cloud: c = fraction / 3 times the smallest compliance of a node of the body, equal
/// in all directions. Rigid points would have no unique forces where several lie on one triangle. For points in
/// contact then
///
///     F_rigid / (1 + fraction) <= F <= F_rigid,   F_rigid - F = c sum |f_i|^2 / d  to first order in c
///
/// for the force F at an approach d that is equal for all points; docs/theory/contact_fem.md, section 8.
[[nodiscard]] double find_cloud_compliance(const SurfaceCompliance& body, double share = cloud_energy_fraction);

}  // namespace heelstrike::fem
