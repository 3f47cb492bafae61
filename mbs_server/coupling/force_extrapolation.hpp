/// What acts beyond the last exchange, from what was answered at the last ones.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/contact/contact.hpp"
#include "mbs_server/coupling/lagrange.hpp"
#include "mbs_server/coupling/saved_numbers.hpp"

namespace heelstrike::mbs {

/// What one pair exerts at an instant, as numbers that are interpolated in time: torque [N m] and force [N] of F_A,
/// stored energy [J], dissipated power [W].
using ForceSample = Eigen::Matrix<double, 8, 1>;

[[nodiscard]] ForceSample sample_of(const Response& response);
/// Sets the four quantities of a response.
void set_sample(Response& response, const ForceSample& sample);

/// [W] that a wrench on A and its opposite on B do to the two bodies together; the same in every frame.
[[nodiscard]] double pair_power(const Wrench& F_A, const PairState& state);

/// How forces go on between exchanges.
struct Extrapolation {
  int degree = 0;        ///< of the polynomial in time, 0 to 2
  bool tangent = false;  ///< instead: the force moves with pose and twist, by the partner's tangents
};

class ForceExtrapolation {
 public:
  ForceExtrapolation(Extrapolation how, std::size_t n_pairs);

  /// An exchange: later than all before.
  /// @param states  that the partner answered
  void add_exchange(double t, std::span<const Response> responses, std::span<const PairState> states);

  /// What acts at a later state. Sets wrench, tangents, energies and gaps of `response`; allocates nothing.
  /// The gap goes on with its rate of the last exchange.
  void act(std::size_t pair, double t, const PairState& state, Response& response) const;
  /// The polynomial alone.
  [[nodiscard]] ForceSample polynomial(std::size_t pair, double t) const;
  /// Whether anything acts after the last exchange.
  [[nodiscard]] bool acts(std::size_t pair) const;
  /// Whether the pair touched at the last exchange.
  [[nodiscard]] bool in_contact(std::size_t pair) const { return since_onset_[pair] > 0; }
  /// Of the polynomial that acts: it goes through exchanges since onset only, of which there may be fewer. 1 for the
  /// tangent, which is exact to that order.
  [[nodiscard]] int degree(std::size_t pair) const;
  /// [s] of the last exchange.
  [[nodiscard]] double time() const { return times_[n_ - 1]; }
  /// The last exchange.
  [[nodiscard]] const ForceSample& newest(std::size_t pair) const { return samples_[n_ - 1][pair]; }

  void save(NumberWriter& to) const;
  /// @throws Error{invalid_input}
  void restore(NumberReader& from);

 private:
  /// What the tangent and the gap go on from.
  struct Reference {
    PairState state;
    Matrix6 dF_A_dX = Matrix6::Zero(), dF_A_dV = Matrix6::Zero();
    double gap = 0.0, gap_rate = 0.0;
  };
  [[nodiscard]] std::size_t n_used(std::size_t pair) const;

  Extrapolation how_;
  std::size_t n_ = 0;                                           ///< exchanges kept
  std::array<double, max_samples> times_{};                    ///< [s] of them, rising
  std::array<std::vector<ForceSample>, max_samples> samples_;  ///< of each exchange, one per pair
  std::vector<std::size_t> since_onset_;                        ///< exchanges in touch in a row, per pair; at most n_
  std::vector<Reference> last_;                                 ///< one per pair
};

}  // namespace heelstrike::mbs
