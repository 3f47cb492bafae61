/// Interpolation in time, prediction of the motion, and extrapolation of forces beyond the last exchange.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "common/contact/contact.hpp"
#include "mbs_server/coupling/saved_numbers.hpp"
#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// Maximum number of samples of a polynomial in time.
inline constexpr std::size_t max_samples = 3;
/// One factor per sample; those beyond the samples are zero.
using SampleWeights = std::array<double, max_samples>;

/// Value at `t` of the polynomial through all samples.
/// @param times  [s] of one to three samples, all different
[[nodiscard]] SampleWeights lagrange_weights(std::span<const double> times, double t);
/// Its integral from `a` to `b`.
[[nodiscard]] SampleWeights lagrange_integrals(std::span<const double> times, double a, double b);

/// Prediction of the coordinates of all bodies at the end of a macro step from past exchanges. Velocities follow the
/// polynomial through those of the last exchanges, and coordinates its integral from the last
/// one: the Adams-Bashforth formula with variable steps. With k + 1 exchanges the coordinates are accurate to order
/// k + 1, the velocities to order k.
class MotionPrediction {
 public:
  /// @param degree  of the polynomial, 0 to 2; fewer exchanges give a lower one
  MotionPrediction(int degree, Eigen::Index n_q);

  void add_exchange(double t, const ConstVector& q, const ConstVector& qd);
  /// Must be called at onset or separation: earlier velocities do not predict later ones.
  void forget() { n_ = 0; }
  /// @pre take()
  void predict(double t, VectorX& q, VectorX& qd) const;

  void save(NumberWriter& to) const;
  /// @throws Error{invalid_input}
  void restore(NumberReader& from);

 private:
  std::size_t max_samples_;
  std::size_t n_ = 0;                        ///< velocities kept, newest first
  std::array<double, max_samples> times_{};  ///< [s] of these exchanges
  std::array<VectorX, max_samples> qd_;
  VectorX q_;  ///< at the newest
};

/// The quantities of one pair that are interpolated in time: torque [N m] and force [N] of F_A,
/// stored energy [J], dissipated power [W].
using ForceSample = Eigen::Matrix<double, 8, 1>;

[[nodiscard]] ForceSample sample_of(const Response& response);
/// Sets the four quantities of a response.
void set_sample(Response& response, const ForceSample& sample);

/// [W] total power of a wrench on A and its opposite on B; the same in every frame.
[[nodiscard]] double pair_power(const Wrench& F_A, const PairState& state);

/// Options of the extrapolation between exchanges.
struct Extrapolation {
  int degree = 0;        ///< of the polynomial in time, 0 to 2
  bool tangent = false;  ///< instead: the force follows pose and twist by the partner's tangents
};

/// Forces beyond the last exchange from the responses of past exchanges.
class ForceExtrapolation {
 public:
  ForceExtrapolation(Extrapolation how, std::size_t n_pairs);

  /// Adds an exchange, later than all before.
  /// @param states  evaluated by the partner
  void add_exchange(double t, std::span<const Response> responses, std::span<const PairState> states);

  /// Force at a later state. Sets wrench, tangents, energies and gaps of `response`; does not allocate.
  /// The gap is extrapolated with its rate at the last exchange.
  void act(std::size_t pair, double t, const PairState& state, Response& response) const;
  /// The polynomial only.
  [[nodiscard]] ForceSample polynomial(std::size_t pair, double t) const;
  /// True if the pair acts after the last exchange.
  [[nodiscard]] bool acts(std::size_t pair) const;
  /// True if the pair was in contact at the last exchange.
  [[nodiscard]] bool in_contact(std::size_t pair) const { return since_onset_[pair] > 0; }
  /// Degree of the active polynomial, which uses only exchanges since onset and may therefore be lower. 1 for the
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
  /// Reference state of the extrapolation of tangent and gap.
  struct Reference {
    PairState state;
    Matrix6 dF_A_dX = Matrix6::Zero(), dF_A_dV = Matrix6::Zero();
    double gap = 0.0, gap_rate = 0.0;
  };
  [[nodiscard]] std::size_t n_used(std::size_t pair) const;

  Extrapolation how_;
  std::size_t n_ = 0;                                          ///< exchanges kept
  std::array<double, max_samples> times_{};                    ///< [s], increasing
  std::array<std::vector<ForceSample>, max_samples> samples_;  ///< of each exchange, one per pair
  std::vector<std::size_t> since_onset_;  ///< consecutive exchanges in contact, per pair; at most n_
  std::vector<Reference> last_;           ///< one per pair
};

}  // namespace heelstrike::mbs
