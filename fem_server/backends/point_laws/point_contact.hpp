/// A point contact law on analytic geometry as a back-end: the ten laws differ in their row of the law table only.
#pragma once

#include <optional>
#include <string>

#include "fem_server/backends/backend.hpp"
#include "fem_server/backends/point_laws/friction.hpp"

namespace heelstrike::fem {

/// Remembers the closing speed at the onset of the present contact.
///   commit of a state with gap < 0, or gap = 0 and not opening, out of contact    ->  latch max(closing speed, floor)
///   commit of a state with gap > 0 and not closing, or gap = 0 and opening, in contact  ->  clear
/// A run that starts in touch or in penetration latches with its initial state in the same way: at rest or opening that
/// is the floor. With friction that sticks, also where the bodies were and how far the spring was stretched.
class PointHistory final : public History {
 public:
  struct Stick {
    Pose X_AB;
    Vector3 stretch = Vector3::Zero();  ///< [m] of the spring, in A; zero out of contact
    double limit = 0.0;                 ///< [N] of the friction; zero out of contact
  };

  PointHistory(std::string backend, std::optional<double> approach_speed, std::optional<Stick> stick);

  /// [m/s] none = not in contact.
  [[nodiscard]] std::optional<double> approach_speed() const { return approach_speed_; }
  /// None = nothing has been committed, or friction that has no memory.
  [[nodiscard]] const std::optional<Stick>& stick() const { return stick_; }
  [[nodiscard]] std::string save() const override;

 private:
  std::string backend_;
  std::optional<double> approach_speed_;
  std::optional<Stick> stick_;
};

class PointContact final : public ContactBackend {
 public:
  /// @param name        of the back-end, written into saved histories
  /// @param parameters  in force, as parameters() shall return them
  PointContact(std::string name, PointLaw law, PointFriction friction, PointPair pair, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  [[nodiscard]] Response evaluate(const History& history, const PairState& state) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;
  [[nodiscard]] ParameterMap parameters() const override { return parameters_; }

 private:
  /// How far the spring of the friction would be stretched without slipping.
  [[nodiscard]] CarriedSlip stretched(const PointGeometry& geometry, const PairState& state,
                                      const std::optional<PointHistory::Stick>& before) const;
  /// The friction and its spring, with the normal force of the approach speed in force. @pre geometry.gap <= 0
  [[nodiscard]] Traction traction(const PointGeometry& geometry, const PairState& state, const LawForce& normal,
                                  const std::optional<PointHistory::Stick>& before) const;
  [[nodiscard]] Response respond(const PointGeometry& geometry, const PairState& state,
                                 std::optional<double> approach_speed,
                                 const std::optional<PointHistory::Stick>& before) const;

  std::string name_;
  PointLaw law_;
  PointFriction friction_;
  PointPair pair_;
  ParameterMap parameters_;
};

}  // namespace heelstrike::fem
