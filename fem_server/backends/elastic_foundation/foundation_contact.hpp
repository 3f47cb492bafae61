/// Elastic foundation back-end: contact of two surfaces by a bed of springs on one of them, and its fields as VTU.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/saved_history.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/backends/elastic_foundation/bed_friction.hpp"
#include "fem_server/backends/elastic_foundation/casting_square.hpp"
#include "fem_server/backends/elastic_foundation/friction_load.hpp"
#include "fem_server/backends/elastic_foundation/spring_bed.hpp"
#include "fem_server/surfaces/partner_shape.hpp"

namespace heelstrike::fem {

struct CastingFields {
  double dissipation = 0.0;  ///< [s/m] of the pressure factor
  std::span<const SurfaceRegion> regions{};
};

/// Per face: mean pressure, loaded part of its area, maximum penetration and an array of 0 and 1 for each region,
/// "region:NAME"; at the points pressure and penetration.
/// @param state        twist and pose of T in C
/// @param X_WC         pose of C in the output frame
/// @throws Error{invalid_input} for an unknown quantity
[[nodiscard]] std::string write_casting_fields(const SpringBed& bed, const BedState& loads, const PairState& state,
                                               const Pose& X_WC, const CastingFields& casting_fields,
                                               const FieldRequest& request);

/// The target surface, without quantities; for a plane, a square patch around the springs.
[[nodiscard]] std::string write_target(const SpringBed& bed, const PartnerShape& target, const Pose& X_CT,
                                       const Pose& X_WC, const FieldRequest& request);

struct FoundationOptions {
  bool casting_is_main = true;            ///< A carries the springs, else B
  double dissipation = 0.0;               ///< [s/m] c >= 0 of the pressure factor 1 + c dd/dt, which is cut at 0
  double friction = 0.0;                  ///< [-] Coulomb coefficient >= 0
  std::vector<double> shear_stiffness{};  ///< [N/m] > 0 of each spring; empty without friction
  /// [1/N] per spring: derivative of 1 / shear_stiffness by the thickness of T's layer, where shear_stiffness is that
  /// of the casting body's layer alone (no such layer: infinite). Empty = T's layer has a uniform thickness
  std::vector<double> shear_compliance_slope{};
  double max_undetected_penetration = 0.0;  ///< [m] overlap of the bodies allowed between springs that do not
                                            ///< detect it
  std::vector<SurfaceRegion> regions{};     ///< reported separately in responses and fields
  std::unique_ptr<CastingSquare> square{};  ///< of a plane with springs; null = another surface
};

/// Without friction, responses do not depend on the history.
struct FoundationHistory final : SavedHistory<FoundationHistory> {
  static constexpr std::string_view format = "heelstrike elastic foundation history 3";

  std::optional<Pose> X_CT;          ///< committed; none = no commit yet, or no friction
  std::vector<StickSpring> springs;  ///< loaded, ascending

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.X_CT, self.springs);
  }
};

class FoundationContact final : public ContactBackend {
 public:
  /// @param target  for field output
  FoundationContact(std::string name, SpringBed bed, PartnerShape target, FoundationOptions options,
                    ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override {
    return FoundationHistory::of_backend(name_);
  }
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  [[nodiscard]] std::string fields(const History& history, const PairState& state,
                                   const FieldRequest& request) const override;

  [[nodiscard]] const SpringBed& bed() const { return bed_; }

 private:
  struct Sum;
  struct Damping;
  void damp_planes(const BedState& bed, const Vector6& V_CT, Damping& damping) const;
  [[nodiscard]] Damping damping_of(const BedState& bed, const Vector6& V_CT) const;
  /// Pose and twist of T in C.
  [[nodiscard]] PairState to_casting_frame(const PairState& state) const;
  [[nodiscard]] Response to_main_frame(const Response& is_casting, const PairState& state) const;
  /// The bed at a pose of T in C. @throws RecoverableError as SpringBed::at and CastingSquare::check
  [[nodiscard]] BedState loads_at(const Pose& X_CT, bool tangents) const;
  [[nodiscard]] Response make_response(const BedState& bed, const FoundationHistory& history, const PairState& state,
                                       std::vector<StickSpring>* stored) const;
  [[nodiscard]] double add_changes(const BedState& bed, std::size_t i, const Damping& damping, const PairState& state,
                                   Sum& sum) const;
  [[nodiscard]] SpringStickPoint find_stick_point(const BedState& bed, std::size_t i, const FoundationHistory& history,
                                                  const Pose& X_CT) const;
  /// [N/m] of a spring for this thickness of T's layer.
  [[nodiscard]] double shear_stiffness(std::uint32_t spring, double target_thickness) const;
  /// Adds the contribution of an energy with derivative `slope` [N] by the thickness of T's layer under a spring, and
  /// of the derivatives of `slope` by pose and twist.
  void add_layer(const BedState& bed, std::size_t i, double slope, const RowVector6& by_pose,
                 const RowVector6& by_twist, Sum& sum) const;
  void add_friction(const BedState& bed, const FoundationHistory& history, const PairState& state, Sum& sum) const;
  void add_traction(const BedState& bed, std::size_t i, const FrictionLoad& load, const FoundationHistory& history,
                    const PairState& state, Sum& sum) const;
  [[nodiscard]] double compute_released_slip_work(const Sum& sum, const FoundationHistory& history,
                                                  const Pose& X_CT) const;
  void check_undetected_penetration(const Pose& X_CT) const;
  [[nodiscard]] Response separated_response(const PairState& state) const;
  /// Loads of the regions, centres of pressure in C. @param pressures  [Pa] of each spring of the bed
  [[nodiscard]] std::vector<RegionLoad> region_loads(const BedState& bed, const Vector6& V_CT,
                                                     const std::vector<double>& pressures) const;

  std::string name_;
  SpringBed bed_;
  PartnerShape target_;
  FoundationOptions options_;
};

}  // namespace heelstrike::fem
