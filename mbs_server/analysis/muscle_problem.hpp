/// The muscle redundancy problem of one frame [smith2016]: activations a, secondary coordinates s and reserve loads r
/// that minimise
///
///   J = sum_m w_m V_m / V_0 |a_m|^p + w_r sum_k (r_k / r_0k)^2 + w_c E_c(s)
///
/// subject to R(a, s) = r and a_min <= a <= 1. The primary coordinates move as recorded, the secondary coordinates have
/// the given values, backward differences as rates, and no acceleration; both are enforced by drivers, and R_k is the
/// generalised force of the driver of coordinate k: the load that the muscles do not supply. With the tangent J_k =
/// dq/du_k of the constrained motion, R_k = J_k'(M qdd - g), because constraint forces do no work along J_k. V_m is the
/// muscle volume F_o l_o / sigma with the specific tension sigma, E_c the energy stored in the contact. Coordinates
/// with other drivers move as prescribed, with any load.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mbs_server/analysis/constrained_minimum.hpp"
#include "mbs_server/analysis/frame_motion.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

struct OptimizedCoordinate {
  std::string name;
  std::string unit;  ///< "rad" or "m"
  bool secondary = false;
  double reserve = 1.0;       ///< [N m] or [N] r_0; 0 = none
  double trust_radius = 0.0;  ///< [rad] or [m] radius of the trust region of a secondary coordinate
  std::shared_ptr<FrameMotion> motion;
  TimeFunctionPtr guess{};  ///< values of a secondary coordinate near its equilibrium, e.g. recorded ones; may be null
};

struct OptimizedMuscle {
  std::string name;
  ActivatedForce* force = nullptr;
  double weight = 1.0;  ///< w_m V_m / V_0
};

struct MuscleObjective {
  bool isometric = false;  ///< tension = activation times maximum isometric force
  double exponent = 2.0;   ///< p >= 1
  double reserve_weight = 1000.0;
  double contact_energy_weight = 0.0;  ///< [1/J]
};

/// Solution of a frame; also the initial guess of the next one.
struct MuscleFrame {
  VectorX activations;  ///< one for each muscle
  VectorX secondary;    ///< [rad], [m]
  VectorX reserves;     ///< [N m], [N] one for each coordinate, zero where it has none
  VectorX loads;        ///< [N m], [N] exerted by the muscles on each coordinate
  VectorX residual;     ///< [rad/s^2], [m/s^2] error of the accelerations
  double objective = 0.0;
  double stationarity = 0.0;  ///< [-] gradient of the Lagrangian relative to that of the objective; 0 at a minimum
  std::string at_limit;       ///< a secondary coordinate at the bound of the last trust region; empty = none
  int n_evaluations = 0;
  std::string reason;  ///< why the solver ended
};

/// What a frame takes from the preceding one.
struct PrecedingFrame {
  VectorX secondary;      ///< [rad], [m]
  double interval = 0.0;  ///< [s] since then; 0 = the secondary coordinates are at rest
  VectorX activations{};  ///< from which those of the frame must be reachable; empty = they are independent
};

class MuscleProblem {
 public:
  /// Trust regions of a frame, each centred at the solution within the one before, until the solution is inside.
  static constexpr int max_regions = 20;

  /// @param system  its drivers prescribe all motion, without internal states; outlives this object
  /// @param contact_force  one of its forces
  /// @param recorded  motions of all driven coordinates except the secondary ones, for settle()
  MuscleProblem(System& system, const ForceElement& contact_force, std::vector<OptimizedCoordinate> coordinates,
                std::vector<OptimizedMuscle> muscles, MuscleObjective objective,
                std::vector<std::shared_ptr<FrameMotion>> recorded = {});

  [[nodiscard]] const std::vector<OptimizedCoordinate>& coordinates() const { return coordinates_; }
  [[nodiscard]] const std::vector<OptimizedMuscle>& muscles() const { return muscles_; }
  [[nodiscard]] Eigen::Index n_secondary() const { return n_secondary_; }

  /// Solves the frame at time t. @param q, qd  near the solution; receive it
  /// @param guess  initial guess, centre of the first trust region
  /// @throws RecoverableError where forces are undefined
  [[nodiscard]] MuscleFrame solve(double t, const PrecedingFrame& past, const MuscleFrame& guess, VectorX& q,
                                  VectorX& qd);

  /// Moves all bodies to time t, with the secondary coordinates s at rest. @param q, qd  near there; receive it
  /// @throws RecoverableError if the constraints cannot be satisfied
  void place(double t, const ConstVector& s, VectorX& q, VectorX& qd);

  /// Equilibrium of the secondary coordinates with equal activations of all muscles, at time t with all recorded
  /// coordinates at rest. Recorded values of secondary coordinates may overlap at t: without an equilibrium near s, one
  /// is sought near their values at earlier times, at most 100 intervals before, and followed through equilibria to t.
  /// @param interval  [s] > 0 first step of their approach
  /// @param s  near the equilibrium @param q, qd  as for solve()
  /// @throws RecoverableError without an equilibrium
  [[nodiscard]] VectorX settle(double t, double activation, double interval, const VectorX& s, VectorX& q, VectorX& qd);

  /// R and its derivatives at a point, for solve() and for checks of derivatives.
  struct Loads {
    VectorX R;             ///< one for each coordinate
    Eigen::MatrixXd by_a;  ///< coordinates x muscles
    Eigen::MatrixXd by_s;  ///< coordinates x secondary
    double energy = 0.0;   ///< [J] stored in the contact
    VectorX energy_s;      ///< by the secondary coordinates
  };
  void begin(double t, const ConstVector& past, double interval, const ConstVector& q, const ConstVector& qd);
  const Loads& evaluate(const ConstVector& a, const ConstVector& s, bool tangents);

  /// Describes what a frame without solution lacks: the coordinate with the largest residual, its missing load, and the
  /// strongest muscles there at their bounds. To be called after solve().
  [[nodiscard]] std::string describe_lack(const MuscleFrame& frame) const;

 private:
  void move_to(const ConstVector& s);
  [[nodiscard]] bool balance_secondary(const VectorX& a, VectorX& s);
  [[nodiscard]] bool has_guess() const;
  [[nodiscard]] VectorX guess(double t) const;
  [[nodiscard]] VectorX follow_equilibrium(double from, double t, double activation, double interval, VectorX s,
                                           VectorX& q, VectorX& qd);
  [[nodiscard]] VectorX approach_equilibrium(double t, double activation, double interval, VectorX s, VectorX& q,
                                             VectorX& qd);
  void set_bounds(const PrecedingFrame& past, const ConstVector& centre);
  /// J and its gradient at x = {a, s, r}. @pre loads_ is that of x
  [[nodiscard]] double objective(const VectorX& x, VectorX& gradient);
  [[nodiscard]] Eigen::MatrixXd scaled_jacobian() const;
  [[nodiscard]] double find_stationarity(const VectorX& x);
  [[nodiscard]] MinimumProblem minimum_problem();
  [[nodiscard]] VectorX muscle_loads(const VectorX& activations);
  [[nodiscard]] std::string coordinate_at_limit(const VectorX& secondary) const;
  void add_tangents(const MotionState& at);
  [[nodiscard]] Eigen::MatrixXd reduced_mass() const;

  System& system_;
  ForceElement* contact_force_ = nullptr;
  std::vector<OptimizedCoordinate> coordinates_;
  std::vector<OptimizedMuscle> muscles_;
  MuscleObjective objective_;
  std::vector<std::shared_ptr<FrameMotion>> recorded_;
  Eigen::Index n_secondary_ = 0;

  double t_ = 0.0;
  double interval_ = 0.0;
  VectorX past_;
  VectorX q_, qd_;
  std::vector<std::shared_ptr<FrameMotion>> motions_;  ///< of coordinates_
  CoordinateDirections along_;
  VectorX scale_, lower_, upper_;  ///< of x = {a, s, r}
  VectorX a_, s_;                  ///< point of loads_
  bool has_tangents_ = false;
  bool is_placed_ = false;     ///< q_, qd_ and along_ belong to s_
  bool is_evaluated_ = false;  ///< loads_ belong to a_ and s_
  Loads loads_;
};

}  // namespace heelstrike::mbs
