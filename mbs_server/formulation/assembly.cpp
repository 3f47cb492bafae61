#include "mbs_server/formulation/assembly.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Geometry>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/checks.hpp"

namespace heelstrike::mbs {

namespace {

/// Relative to constraint rows, whose norms are of order one.
constexpr double dependent = 1e-9;

class RowSpan {
 public:
  explicit RowSpan(Eigen::Index n_columns)
      : row_(VectorX::Zero(n_columns)),
        touched_(static_cast<std::size_t>(n_columns), 0),
        pivot_(static_cast<std::size_t>(n_columns), 0),
        reflections_of_row_(static_cast<std::size_t>(n_columns)) {}

  /// Adds the row unless it depends on preceding rows. @param column  of the transposed matrix
  [[nodiscard]] bool take(const SparseMatrix& A_transposed, Eigen::Index column) {
    for (SparseMatrix::InnerIterator it(A_transposed, column); it; ++it)
      touch(static_cast<int>(it.row()), -1, it.value());
    while (!waiting_.empty()) {
      const int next = waiting_.top();
      waiting_.pop();
      queued_[static_cast<std::size_t>(next)] = 0;
      reflect(next);
    }
    const bool independent = is_remainder_independent();
    for (const int i : support_) {
      row_[i] = 0.0;
      touched_[static_cast<std::size_t>(i)] = 0;
    }
    support_.clear();
    return independent;
  }

 private:
  /// 1 - v v^T with |v|^2 = 2, stored by the nonzero entries of v.
  struct Reflection {
    std::vector<int> places;
    std::vector<double> v;
  };

  /// Adds to an entry of the current row and schedules the reflections after `last` that share this entry.
  void touch(int place, int last, double value) {
    const auto p = static_cast<std::size_t>(place);
    row_[place] += value;
    if (touched_[p] != 0) return;
    touched_[p] = 1;
    support_.push_back(place);
    const auto& meeting = reflections_of_row_[p];
    for (auto next = std::ranges::upper_bound(meeting, last); next != meeting.end(); ++next) {
      char& queued = queued_[static_cast<std::size_t>(*next)];
      if (queued == 0) waiting_.push(*next);
      queued = 1;
    }
  }

  void reflect(int number) {
    const Reflection& h = reflections_[static_cast<std::size_t>(number)];
    double product = 0.0;
    for (std::size_t k = 0; k < h.v.size(); ++k) product += h.v[k] * row_[h.places[k]];
    if (product == 0.0) return;
    for (std::size_t k = 0; k < h.v.size(); ++k) touch(h.places[k], number, -product * h.v[k]);
  }

  /// Makes a reflection of the remainder outside the pivots of preceding rows.
  bool is_remainder_independent() {
    Reflection h;
    double square = 0.0;
    std::size_t largest = 0;
    for (const int i : support_) {
      if (pivot_[static_cast<std::size_t>(i)] != 0 || row_[i] == 0.0) continue;
      h.places.push_back(i);
      h.v.push_back(row_[i]);
      square += row_[i] * row_[i];
      if (std::abs(row_[i]) > std::abs(h.v[largest])) largest = h.v.size() - 1;
    }
    const double distance = std::sqrt(square);
    if (!(distance >= dependent)) return false;
    const double top = h.v[largest];
    h.v[largest] += std::copysign(distance, top);
    const double scale = 1.0 / std::sqrt(distance * (distance + std::abs(top)));
    const auto number = static_cast<int>(reflections_.size());
    for (std::size_t k = 0; k < h.v.size(); ++k) {
      h.v[k] *= scale;
      reflections_of_row_[static_cast<std::size_t>(h.places[k])].push_back(number);
    }
    pivot_[static_cast<std::size_t>(h.places[largest])] = 1;
    reflections_.push_back(std::move(h));
    queued_.push_back(0);
    return true;
  }

  VectorX row_;  ///< current row, transformed so far; zero between rows
  std::vector<char> touched_;
  std::vector<int> support_;
  std::vector<char> pivot_;  ///< entries of preceding rows; later reflections do not change them
  std::vector<Reflection> reflections_;
  std::vector<std::vector<int>> reflections_of_row_;  ///< per entry: reflections that share it, increasing
  std::vector<char> queued_;
  std::priority_queue<int, std::vector<int>, std::greater<>> waiting_;
};

}  // namespace

std::vector<int> independent_rows(const SparseMatrix& A, const std::stop_token& stop) {
  const SparseMatrix transposed = A.transpose();
  RowSpan span(A.cols());
  std::vector<int> rows;
  for (Eigen::Index row = 0; row < A.rows(); ++row) {
    check_stop(stop);
    if (span.take(transposed, row)) rows.push_back(static_cast<int>(row));
  }
  return rows;
}

namespace {

/// Residual tolerance of an assembled pose; the projection at the start of the run reduces it further.
constexpr double assembled = 1e-11;

/// Constraints of the given rows, in the order of the system, with the number of rows unless it is one.
std::vector<std::string> names_of_rows(const System& system, const std::vector<int>& rows) {
  std::vector<std::string> names;
  int first = 0;
  for (const auto& constraint : system.constraints()) {
    const int last = first + constraint->rows();
    const auto n = std::ranges::count_if(rows, [&](int r) { return r >= first && r < last; });
    if (n > 0) names.push_back(n == 1 ? constraint->name() : fmt::format("{} ({} equations)", constraint->name(), n));
    first = last;
  }
  return names;
}

std::vector<int> rows_above(const VectorX& residual, double limit) {
  std::vector<int> rows;
  for (Eigen::Index i = 0; i < residual.size(); ++i) {
    if (!(std::abs(residual[i]) <= limit)) rows.push_back(static_cast<int>(i));
  }
  return rows;
}

/// Refers to the last joint of the file among the rows in conflict.
std::string describe_conflict(const System& system, const std::vector<int>& rows) {
  std::string place;
  for (const auto& name : names_of_rows(system, rows)) {
    const std::string plain = name.substr(0, name.find(" ("));
    const auto joint = std::ranges::find(system.model().joints, plain, &Joint::name);
    if (joint != system.model().joints.end()) place = joint->where + ": ";
  }
  return place;
}

/// @throws Error{invalid_input} when a joint or driver has a non-finite residual at the start
void require_finite(const System& system, const VectorX& residual, double t) {
  const Eigen::Index row = first_not_finite(residual);
  if (row < 0) return;
  const std::vector<int> rows = {static_cast<int>(row)};
  throw input_error(
      "joints", fmt::format("{}expected joints and drivers with finite values at t = {} s, found a non-finite value "
                            "of '{}'; check poses, points and functions of time",
                            describe_conflict(system, rows), t, fmt::join(names_of_rows(system, rows), ", ")));
}

[[noreturn]] void reject(const System& system, const VectorX& residual, const char* what, const char* unit) {
  const double worst = residual.allFinite() ? residual.cwiseAbs().maxCoeff() : std::numeric_limits<double>::infinity();
  auto rows = rows_above(residual, std::isfinite(worst) ? std::max(0.01 * worst, assembled) : assembled);
  // Violated joints also cause residuals of rigid bodies, which the user cannot correct: these rows are not reported.
  const int n_rigid = rigid_constraints_per_body * static_cast<int>(system.model().bodies.size());
  if (!rows.empty() && rows.back() >= n_rigid) std::erase_if(rows, [&](int row) { return row < n_rigid; });
  throw input_error(
      "joints",
      fmt::format("{}expected an initial state that satisfies all joints and drivers, found none: {} remain violated "
                  "by up to {:.3g} ({}) in {}; correct the poses, points and axes of these, or remove one",
                  describe_conflict(system, rows), what, worst, unit, fmt::join(names_of_rows(system, rows), ", ")));
}

/// Solves [M J'; J -damping] {x; lambda} = {0; b} for the rows `rows` of J: the x of minimum mass-weighted norm with
/// J x = b, approximately for dependent rows.
VectorX solve_min_norm_change(const SparseMatrix& M, const SparseMatrix& J, const VectorX& b,
                              const std::vector<int>& rows) {
  const auto n = static_cast<int>(M.rows());
  const auto m = static_cast<int>(rows.size());
  std::vector<int> place(static_cast<std::size_t>(J.rows()), -1);
  VectorX rhs = VectorX::Zero(n + m);
  for (int i = 0; i < m; ++i) {
    place[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])] = n + i;
    rhs[n + i] = b[rows[static_cast<std::size_t>(i)]];
  }
  std::vector<Eigen::Triplet<double>> entries;
  double max_mass = 0.0;
  for (int column = 0; column < n; ++column) {
    for (SparseMatrix::InnerIterator it(M, column); it; ++it) {
      entries.emplace_back(static_cast<int>(it.row()), column, it.value());
      max_mass = std::max(max_mass, std::abs(it.value()));
    }
    for (SparseMatrix::InnerIterator it(J, column); it; ++it) {
      const int row = place[static_cast<std::size_t>(it.row())];
      if (row < 0) continue;
      entries.emplace_back(row, column, it.value());
      entries.emplace_back(column, row, it.value());
    }
  }
  // J M^-1 J' has the magnitude of an inverse mass, at least that of the heaviest body. Damping by 1e-11 of it changes
  // a step by the same fraction and gives a dependent row a pivot far above rounding.
  for (int i = 0; i < m; ++i) entries.emplace_back(n + i, n + i, -1e-11 / max_mass);
  SparseMatrix A(n + m, n + m);
  A.setFromTriplets(entries.begin(), entries.end());
  // A zero step ends Newton's method, which then reports the violated constraints.
  if (!rhs.allFinite() || !A.coeffs().allFinite()) return VectorX::Zero(n);
  const Eigen::SparseLU<SparseMatrix> lu(A);
  if (lu.info() != Eigen::Success) return VectorX::Zero(n);
  // Masses and lengths in one matrix differ by orders of magnitude; one step of iterative refinement restores the lost
  // digits.
  VectorX x = lu.solve(rhs);
  x += lu.solve(VectorX(rhs - A * x));
  return x.head(n);
}

VectorX correction(System& system, double t, const VectorX& q, const std::vector<int>& rows) {
  return solve_min_norm_change(system.mass_matrix(), system.jacobian(t, q), -system.residual(t, q), rows);
}

std::vector<int> all_rows(const System& system) {
  std::vector<int> rows(static_cast<std::size_t>(system.n_constraints()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// Damped Newton method. @returns true if it converged
bool move_onto_constraints(System& system, double t, VectorX& q, const std::stop_token& stop) {
  // The Jacobian is exact, so that convergence is quadratic near the solution. From a poor guess steps are limited to
  // half the length of a unit vector [m or -], beyond which the linearised orthonormality of the axes is invalid.
  constexpr int max_iterations = 100;
  constexpr double max_step_length = 0.5;
  // Far from the origin the rounding of positions exceeds the tolerance near the origin.
  const double small_enough = assembled * std::max(1.0, q.lpNorm<Eigen::Infinity>());
  for (int i = 0; i < max_iterations; ++i) {
    check_stop(stop);
    if (system.residual(t, q).cwiseAbs().maxCoeff() <= small_enough) return true;
    const VectorX step = correction(system, t, q, all_rows(system));
    const double length = step.cwiseAbs().maxCoeff();
    q += length > max_step_length ? VectorX(step * (max_step_length / length)) : step;
    if (!q.allFinite() || length < 1e-15) break;
  }
  return q.allFinite() && system.residual(t, q).cwiseAbs().maxCoeff() <= small_enough;
}

/// [m] diagonal of the box around the bodies' origins, centres of mass and joints.
double size_of(const Model& model) {
  Eigen::AlignedBox3d box;
  for (const auto& body : model.bodies) {
    box.extend(body.X_WB.p);
    box.extend(body.X_WB * body.mass_properties.center_of_mass);
  }
  for (const auto& joint : model.joints) {
    for (const JointSide* side : {&joint.a, &joint.b}) {
      const bool is_ground = side->body == ground;
      box.extend(is_ground ? side->X_BF.p : model.bodies[static_cast<std::size_t>(side->body)].X_WB * side->X_BF.p);
    }
  }
  return box.diagonal().norm();
}

void report_moves(const System& system, const VectorX& before, const VectorX& after, const AssemblyLog& log) {
  // Measured or rounded coordinates need corrections far below this.
  constexpr double significant_angle = 0.01;  // [rad]
  const double significant_distance = 0.01 * size_of(system.model());
  for (std::size_t i = 0; i < system.model().bodies.size(); ++i) {
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(i);
    const Pose X_old = pose_from_coordinates(before.segment<12>(first));
    const Pose X_new = pose_from_coordinates(after.segment<12>(first));
    const double distance = (X_new.p - X_old.p).norm();
    const Matrix3 R_change = X_old.R.transpose() * X_new.R;
    // Sine and cosine together are well conditioned for every angle; the arc cosine of the trace loses half of the
    // digits of small angles.
    const double sine =
        0.5 * Vector3(R_change(2, 1) - R_change(1, 2), R_change(0, 2) - R_change(2, 0), R_change(1, 0) - R_change(0, 1))
                  .norm();
    const double angle = std::atan2(sine, 0.5 * (R_change.trace() - 1.0));
    if (distance < 1e-9 && angle < 1e-9) continue;
    const bool significant = angle > significant_angle || distance > significant_distance;
    log(significant ? "warning" : "info",
        fmt::format("assembly moved {} by {:.4g} m and rotated it by {:.4g} rad{}", system.model().bodies[i].name,
                    distance, angle,
                    significant ? " from the pose in the scenario to satisfy its joints and drivers; check its "
                                  "position and orientation"
                                : ""));
  }
}

/// Trial motion of size 1e-3 along the kept constraints: constraints that they imply everywhere still hold there,
/// constraints that they imply only in the start pose do not.
bool implied_everywhere(System& system, double t, const VectorX& q, const std::vector<int>& kept,
                        const std::vector<int>& removed, const std::stop_token& stop) {
  VectorX trial = q;
  for (Eigen::Index i = 0; i < q.size(); ++i) {
    trial[i] += 1e-3 * std::sin(static_cast<double>(3 * i + 1));  // arbitrary but reproducible direction
  }
  // More iterations than Newton's method needs from a distance of 1e-3; the remaining residual is checked below.
  for (int i = 0; i < 20; ++i) {
    check_stop(stop);
    trial += correction(system, t, trial, kept);
  }
  const VectorX residual = system.residual(t, trial);
  double worst = 0.0;
  for (const int row : removed) worst = std::max(worst, std::abs(residual[row]));
  // Constraints that hold only in the start pose are violated by the square of the motion, 1e-6; constraints implied
  // everywhere keep the 1e-11 of the damped steps.
  return worst < 1e-9;
}

void report_speed_changes(const System& system, const VectorX& before, const VectorX& after, const AssemblyLog& log) {
  for (std::size_t i = 0; i < system.model().bodies.size(); ++i) {
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(i);
    const double change = (after.segment<12>(first) - before.segment<12>(first)).cwiseAbs().maxCoeff();
    if (change > 1e-9 * (1.0 + after.cwiseAbs().maxCoeff())) {
      log("info", fmt::format("assembly changed the velocity of {} by up to {:.4g} m/s or 1/s",
                              system.model().bodies[i].name, change));
    }
  }
}

/// Rounded decimals may cause small penetrations; more than a micrometre is an input error.
void require_gaps(const System& system, double t, const VectorX& q) {
  constexpr double closure_tolerance = 1e-6;
  for (const UnilateralConstraint* joint : system.unilaterals()) {
    const double gap = joint->gap().residual(t, q);
    if (gap >= -closure_tolerance) continue;
    const auto& joints = system.model().joints;
    const auto described = std::ranges::find(joints, joint->name(), &Joint::name);
    throw input_error("joints." + joint->name(),
                      fmt::format("{}: expected a unilateral joint that is not violated at the start, found a gap of "
                                  "{:.3g} m; move a body apart, or reverse the joint's axis",
                                  described->where, gap));
  }
}

void remove_redundant(System& system, double t, const VectorX& q, const AssemblyLog& log, const std::stop_token& stop) {
  const auto kept = independent_rows(system.jacobian(t, q), stop);
  std::vector<int> removed;
  for (int row = 0; row < system.n_constraints(); ++row) {
    if (!std::ranges::binary_search(kept, row)) removed.push_back(row);
  }
  if (removed.empty()) return;
  const auto names = names_of_rows(system, removed);
  if (!implied_everywhere(system, t, q, kept, removed, stop)) {
    log("info", fmt::format("the start pose is singular: {} depend on the other constraints only there; all "
                            "equations are kept and solved with damping",
                            fmt::join(names, ", ")));
    return;
  }
  log("info", fmt::format("{} of {} constraint equations are redundant and not used: {}; their reactions are zero",
                          removed.size(), system.n_constraints(), fmt::join(names, ", ")));
  system.keep_rows(kept);
}

}  // namespace

Start assemble(System& system, double t, const AssemblyLog& log, const std::stop_token& stop) {
  const VectorX q0 = system.initial_q();
  const VectorX qd0 = system.initial_qd();
  Start start{.q = q0, .qd = qd0};
  if (system.n_constraints() == 0) return start;
  require_finite(system, system.residual(t, q0), t);
  require_finite(system, system.velocity_residual(t, q0, qd0), t);
  if (!move_onto_constraints(system, t, start.q, stop)) {
    reject(system, system.residual(t, start.q), "positions", "m or -");
  }
  if (const std::string driver = system.find_reversed_driver(t, start.q); !driver.empty()) {
    throw input_error("drivers",
                      fmt::format("expected initial poses within a quarter turn of the motion of '{}' at t = "
                                  "{} s, found poses from which assembly converges to the pose half a turn away; "
                                  "place its bodies closer to it",
                                  driver, t));
  }
  require_gaps(system, t, start.q);
  report_moves(system, q0, start.q, log);
  start.qd = qd0 + solve_min_norm_change(system.mass_matrix(), system.jacobian(t, start.q),
                                         -system.velocity_residual(t, start.q, qd0), all_rows(system));
  const VectorX slip = system.velocity_residual(t, start.q, start.qd);
  // One linear step is exact except for damping of the multipliers and rounding; a larger residual is a contradiction
  // between drivers.
  if (slip.cwiseAbs().maxCoeff() > 1e-8 * (1.0 + start.qd.cwiseAbs().maxCoeff())) {
    reject(system, slip, "velocities", "m/s or 1/s");
  }
  report_speed_changes(system, qd0, start.qd, log);
  remove_redundant(system, t, start.q, log, stop);
  return start;
}

}  // namespace heelstrike::mbs
