/// A point contact law on analytic geometry as a back-end: the ten laws differ in their row of the law table only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fem_server/backends/point_laws/friction.hpp"
#include "fem_server/backend_interface/saved_history.hpp"

namespace heelstrike::fem {

/// Remembers the closing speed at the onset of the present contact.
///   commit of a state with gap < 0, or gap = 0 and not opening, out of contact    ->  latch max(closing speed, floor)
///   commit of a state with gap > 0 and not closing, or gap = 0 and opening, in contact  ->  clear
/// A run that starts in touch or in penetration latches with its initial state in the same way: at rest or opening that
/// is the floor. With friction that sticks, also where the bodies were and how far the spring was stretched.
struct PointHistory final : SavedHistory<PointHistory> {
  static constexpr std::string_view format = "heelstrike point history 3";

  struct Stick {
    Pose X_AB;
    Vector3 stretch = Vector3::Zero();  ///< [m] of the spring, in A; zero out of contact
    double limit = 0.0;                 ///< [N] of the friction; zero out of contact
  };
  std::optional<Stick> stick;  ///< none = nothing has been committed, or friction that has no memory

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    bool sticks = self.stick.has_value();
    archive(sticks);
    if (!sticks) return;
    if constexpr (Archive::reads) self.stick.emplace();
    archive(self.stick->X_AB, self.stick->stretch, self.stick->limit);
    archive.require(self.stick->limit >= 0.0, "a limit of the friction >= 0 N");
  }
};

class PointContact final : public ContactBackend {
 public:
  /// @param name        of the back-end, written into saved histories
  /// @param parameters  in force
  PointContact(std::string name, PointLaw law, PointFriction friction, PointPair pair, ParameterMap parameters);

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override;
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options = {}) const override;
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options = {}) const override;
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override;

 private:
  /// How far the spring of the friction would be stretched without slipping.
  [[nodiscard]] TransportedSlip stretched(const PointGeometry& geometry, const PairState& state,
                                      const std::optional<PointHistory::Stick>& before) const;
  /// The friction and its spring, with the normal force of the approach speed in force. @pre geometry.gap <= 0
  [[nodiscard]] Traction traction(const PointGeometry& geometry, const PairState& state, const LawForce& normal,
                                  const std::optional<PointHistory::Stick>& before) const;
  [[nodiscard]] Response make_response(const PointGeometry& geometry, const PairState& state,
                                 std::optional<double> approach_velocity,
                                 const std::optional<PointHistory::Stick>& before) const;

  std::string name_;
  PointLaw law_;
  PointFriction friction_;
  PointPair pair_;
};

}  // namespace heelstrike::fem
