/// One vibration mode under a force that varies linearly over a step: solved exactly; and the history of all modes.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "fem_server/backend_interface/saved_history.hpp"

namespace heelstrike::fem {

/// Coordinate and velocity of a mode [sqrt(kg) m, sqrt(kg) m/s], and the force on it [N/sqrt(kg)].
struct ModeState {
  double q = 0.0;
  double v = 0.0;
  double g = 0.0;

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.q, self.v, self.g);
  }
};

/// q'' + 2 zeta omega q' + omega^2 q = g over a step h, g linear in time from g0 to g1:
///
///     q1 = (1 - omega^2 S1) q0 + S v0 + (S1 - S2 / h) g0 + (S2 / h) g1
///
/// with the response S(h) to a unit impulse and its first and second integrals S1, S2 (Duhamel's integral; Nigam and
/// Jennings [nigam1969]). Stable for any h; S2 / h >= 0 is the compliance of a mode under the force at the end of the
/// step: h^2/6 for short steps, 1/omega^2 for long ones.
class ModeStep {
 public:
  /// @param omega  [rad/s] > 0
  /// @param zeta   [-] damping ratio in [0, 1)
  /// @param h      [s] >= 0
  ModeStep(double omega, double zeta, double h);

  /// [1/(rad/s)^2] d q1 / d g1
  [[nodiscard]] double modal_compliance() const { return compliance_; }
  /// q1 if the force ends at zero.
  [[nodiscard]] double released(const ModeState& before) const;
  [[nodiscard]] ModeState after(const ModeState& before, double g1) const;
  /// [J] >= 0 dissipated by the damping. @param end  from after()
  [[nodiscard]] double dissipated(const ModeState& before, const ModeState& end) const;
  /// [J] kinetic and elastic
  [[nodiscard]] double energy(const ModeState& state) const;

 private:
  double omega2_, zeta_omega_, h_;
  double s_ = 0.0;           ///< S
  double rate_ = 1.0;        ///< its derivative
  double s1_ = 0.0;          ///< S1
  double compliance_ = 0.0;  ///< S2 / h
  double s1_rate_ = 0.0;     ///< S1 / h
};

/// History of the contact of a vibrating body between accepted steps.
struct ModalHistory final : SavedHistory<ModalHistory> {
  static constexpr std::string_view format = "heelstrike modal history 2";

  std::optional<double> t;       ///< [s] of the commit; none = no commit yet
  Pose X_AB;                     ///< there
  bool touches = false;          ///< the bodies were in contact there
  std::vector<ModeState> modes;  ///< all modes of the body; empty before the first commit

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.t, self.X_AB, self.touches, self.modes);
  }
};

}  // namespace heelstrike::fem
