#include "mbs_server/analysis/inverse_kinematics.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <unsupported/Eigen/NonLinearOptimization>
#include <utility>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "mbs_server/analysis/frame_motion.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/joint_equations.hpp"
#include "mbs_server/simulation/coupled_model.hpp"

namespace heelstrike::mbs {
namespace {

struct Coordinate {
  std::string name;
  CoordinateMapPtr map;
  std::size_t place = 0;
  double initial = 0.0;
  std::shared_ptr<FrameMotion> motion = {};  ///< null = it follows from couplers of the model
  std::ptrdiff_t unknown = -1;               ///< index of the unknown that it is or follows; -1 = none
  ScalarFunctionPtr f = {};                  ///< of that unknown; null = the unknown itself
};

struct FittedMarker {
  const ModelMarker* source = nullptr;
  BodyIndex body = ground;
};

std::vector<Coordinate> find_coordinates(const Scenario& scenario, const Model& model) {
  std::vector<std::string> dependent;
  for (const JointSpec& joint : scenario.joints) {
    // A coupler: its coordinate is a function `of` others.
    if (joint.keys.has("of") && joint.keys.has("coordinate")) dependent.push_back(joint.keys["coordinate"].text());
  }
  std::vector<Coordinate> coordinates;
  for (const Joint& joint : model.joints) {
    if (!joint.map) continue;
    const CoordinateTransform& transform = joint.map->transform();
    for (std::size_t i = 0; i < transform.names.size(); ++i) {
      Coordinate coordinate{.name = transform.names[i], .map = joint.map, .place = i, .initial = transform.near[i]};
      if (std::ranges::find(dependent, coordinate.name) == dependent.end()) {
        coordinate.motion = std::make_shared<FrameMotion>(nullptr);
        coordinate.motion->set({.f = coordinate.initial});
      }
      coordinates.push_back(std::move(coordinate));
    }
  }
  if (coordinates.empty()) {
    throw input_error("joints", "expected joints with named coordinates (`type: custom`), found none; import a model");
  }
  return coordinates;
}

/// An independent coordinate; null = there is none of this name.
Coordinate* find_free(std::vector<Coordinate>& coordinates, const std::string& name) {
  const auto found = std::ranges::find(coordinates, name, &Coordinate::name);
  return found != coordinates.end() && found->motion ? &*found : nullptr;
}

/// Removes couplings and tasks of other coordinates. @returns their names
std::vector<std::string> remove_absent(InverseKinematicsTask& task, std::vector<Coordinate>& coordinates) {
  std::vector<std::string> absent;
  const auto is_absent = [&](const auto& entry) {
    if (find_free(coordinates, entry.coordinate) != nullptr) return false;
    absent.push_back(entry.coordinate);
    return true;
  };
  std::erase_if(task.coupled, is_absent);
  std::erase_if(task.coordinates, is_absent);
  return absent;
}

Coordinate& named(std::vector<Coordinate>& coordinates, const std::string& name, const char* what) {
  if (Coordinate* found = find_free(coordinates, name); found != nullptr) return *found;
  std::vector<std::string> known;
  for (const Coordinate& coordinate : coordinates) {
    if (coordinate.motion) known.push_back(coordinate.name);
  }
  const auto near = nearest_name(name, known);
  throw input_error(what, fmt::format("{}: expected the name of an independent coordinate of the model, found '{}'{}",
                                      what, name, near ? fmt::format("; did you mean '{}'?", *near) : ""));
}

/// Numbers the unknowns: coordinates that are neither locked nor coupled.
std::ptrdiff_t number_unknowns(const InverseKinematicsTask& task, std::vector<Coordinate>& coordinates) {
  for (const std::string& name : task.locked) (void)named(coordinates, name, "locked");
  for (const CoupledTo& coupled : task.coupled) {
    (void)named(coordinates, coupled.by, "coupled");
    named(coordinates, coupled.coordinate, "coupled").f = coupled.f;
  }
  std::ptrdiff_t n = 0;
  for (Coordinate& coordinate : coordinates) {
    const bool is_locked = std::ranges::find(task.locked, coordinate.name) != task.locked.end();
    if (coordinate.motion && !coordinate.f && !is_locked) coordinate.unknown = n++;
  }
  for (const CoupledTo& coupled : task.coupled) {
    const Coordinate& by = named(coordinates, coupled.by, "coupled");
    if (by.f) {
      throw input_error(
          "coupled", fmt::format("coupled: expected a coordinate that is not coupled itself, found '{}'", coupled.by));
    }
    Coordinate& coordinate = named(coordinates, coupled.coordinate, "coupled");
    coordinate.unknown = by.unknown;
    if (by.unknown < 0) coordinate.motion->set({.f = coordinate.f->at(by.initial).f});
  }
  return n;
}

/// sqrt(w) (u - value) of an unknown.
struct Pull {
  std::ptrdiff_t unknown = 0;
  double root_weight = 0.0;
  double value = 0.0;
};

/// Of the coordinate tasks; those of locked and coupled coordinates have no effect.
std::vector<Pull> find_pulls(const InverseKinematicsTask& task, std::vector<Coordinate>& coordinates) {
  std::vector<Pull> pulls;
  for (const CoordinateTask& wanted : task.coordinates) {
    const Coordinate& coordinate = named(coordinates, wanted.coordinate, "coordinates");
    if (coordinate.unknown < 0 || coordinate.f) continue;
    pulls.push_back({.unknown = coordinate.unknown,
                     .root_weight = std::sqrt(wanted.weight),
                     .value = wanted.value.value_or(coordinate.initial)});
  }
  return pulls;
}

/// Residuals sqrt(w) (p_WM - p_m) of the seen markers of one frame, for the solver.
class MarkerFit {
 public:
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  MarkerFit(System& system, std::vector<Coordinate>& coordinates, std::ptrdiff_t n_unknowns,
            std::vector<FittedMarker> markers, std::vector<Pull> pulls, const Start& start)
      : system_(system),
        coordinates_(coordinates),
        n_unknowns_(n_unknowns),
        markers_(std::move(markers)),
        pulls_(std::move(pulls)),
        q_(start.q),
        qd_(VectorX::Zero(start.q.size())) {
    for (const Coordinate& coordinate : coordinates_) {
      if (coordinate.motion) motions_.push_back(coordinate.motion);
    }
  }

  [[nodiscard]] bool is_any_seen(std::size_t frame) const {
    return std::ranges::any_of(markers_, [&](const FittedMarker& m) { return m.source->measured[frame].allFinite(); });
  }

  /// @param u  near the solution. @throws RecoverableError for poses that are not reached
  void begin(std::size_t frame, const Eigen::VectorXd& u) {
    frame_ = frame;
    seen_.clear();
    for (std::size_t m = 0; m < markers_.size(); ++m) {
      if (markers_[m].source->measured[frame].allFinite()) seen_.push_back(m);
    }
    system_.reset_factorisation();
    is_at_ = false;
    unreachable_.clear();
    start_ = u;
    if (!move_to(u)) throw RecoverableError(error_);
  }
  [[nodiscard]] int inputs() const { return static_cast<int>(n_unknowns_); }
  [[nodiscard]] int values() const {
    return n_marker_values() + static_cast<int>(pulls_.size()) + static_cast<int>(n_unknowns_);
  }

  int operator()(const Eigen::VectorXd& u, Eigen::VectorXd& residuals) {
    // A step to poses that cannot be reached is shortened.
    constexpr double unreachable = 1e3;  // [m]
    if (!move_to(u)) {
      unreachable_ = error_;
      residuals.setConstant(unreachable);
      return 0;
    }
    residuals.tail(n_unknowns_) = damping * (u - start_);
    for (Eigen::Index row = n_marker_values(); const Pull& pull : pulls_) {
      residuals[row++] = pull.root_weight * (u[pull.unknown] - pull.value);
    }
    for (std::size_t s = 0; s < seen_.size(); ++s) {
      const ModelMarker& marker = *markers_[seen_[s]].source;
      residuals.segment<3>(3 * static_cast<Eigen::Index>(s)) =
          std::sqrt(marker.weight) * (position(seen_[s]) - marker.measured[frame_]);
    }
    return 0;
  }

  int df(const Eigen::VectorXd& u, Eigen::MatrixXd& jacobian) {
    jacobian.setZero();
    jacobian.bottomRows(n_unknowns_).diagonal().setConstant(damping);
    for (Eigen::Index row = n_marker_values(); const Pull& pull : pulls_) {
      jacobian(row++, pull.unknown) = pull.root_weight;
    }
    if (move_to(u)) jacobian.topRows(n_marker_values()) = marker_derivatives(u);
    return 0;
  }

  /// For every unknown, whether the markers and tasks of the frame leave it undetermined, alone or together with
  /// others.
  [[nodiscard]] std::vector<bool> undetermined(const Eigen::VectorXd& u) {
    if (n_unknowns_ == 0) return {};
    if (!move_to(u)) throw RecoverableError(error_);
    Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(values() - static_cast<int>(n_unknowns_), n_unknowns_);
    jacobian.topRows(n_marker_values()) = marker_derivatives(u);
    for (Eigen::Index row = n_marker_values(); const Pull& pull : pulls_) {
      jacobian(row++, pull.unknown) = pull.root_weight;
    }
    // Along directions with smaller singular values, the pull to the start of the frame is stronger than the markers.
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> squares(jacobian.transpose() * jacobian);
    constexpr double part = 0.05;  // [-] of a coordinate in these directions
    std::vector<bool> result(static_cast<std::size_t>(n_unknowns_));
    for (Eigen::Index i = 0; i < n_unknowns_; ++i) {
      double square = 0.0;
      for (Eigen::Index k = 0; k < n_unknowns_; ++k) {
        if (squares.eigenvalues()[k] < damping * damping) square += std::pow(squares.eigenvectors()(i, k), 2);
      }
      result[static_cast<std::size_t>(i)] = square > part * part;
    }
    return result;
  }

  /// Reason if steps of the frame could not be reached although a step from u reduces the sum of squares to first order
  /// by more than 0.1 %; else empty.
  [[nodiscard]] std::string unreachable(const Eigen::VectorXd& u) {
    if (unreachable_.empty()) return "";
    const std::string reason = unreachable_;
    Eigen::VectorXd residuals(values());
    Eigen::MatrixXd jacobian(values(), inputs());
    operator()(u, residuals);
    df(u, jacobian);
    const Eigen::VectorXd step = jacobian.colPivHouseholderQr().solve(-residuals);
    const double square = residuals.squaredNorm();
    constexpr double fits = 1e-10;  // [m^2] a hundredth of a millimetre
    return square - (residuals + jacobian * step).squaredNorm() > std::max(1e-3 * square, fits) ? reason : "";
  }

  /// The frame at the unknowns u.
  [[nodiscard]] InverseKinematicsFrame frame_at(const Eigen::VectorXd& u) {
    if (!move_to(u)) throw RecoverableError(error_);
    system_.accept_turn_references(q_);
    InverseKinematicsFrame frame;
    for (const Coordinate& coordinate : coordinates_) {
      const auto row = coordinate.map->rows() + static_cast<Eigen::Index>(coordinate.place);
      frame.values.push_back(coordinate.motion ? coordinate.motion->at(0.0).f : coordinate.map->values(q_)[row]);
    }
    frame.errors.assign(markers_.size(), std::numeric_limits<double>::quiet_NaN());
    for (const std::size_t m : seen_) {
      const ModelMarker& marker = *markers_[m].source;
      frame.errors[m] = (position(m) - marker.measured[frame_]).norm();
      frame.sum_of_squares += marker.weight * frame.errors[m] * frame.errors[m];
    }
    return frame;
  }

 private:
  /// [m/rad], [m/m] Pull towards the start of the frame, far below the lever arms of markers: combinations of
  /// coordinates that markers hardly determine would otherwise drift by turns. The change of a determined coordinate
  /// between two frames is reduced by the square of the ratio to its lever arm, 1e-4 for 0.1 m.
  static constexpr double damping = 1e-3;

  [[nodiscard]] int n_marker_values() const { return 3 * static_cast<int>(seen_.size()); }

  /// Of the residuals of markers. @pre move_to(u)
  [[nodiscard]] Eigen::MatrixXd marker_derivatives(const Eigen::VectorXd& u) {
    Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(n_marker_values(), n_unknowns_);
    find_directions(system_, 0.0, q_, motions_, along_);
    q_along_ = q_;
    values_along_.resize(static_cast<Eigen::Index>(motions_.size()));
    for (std::size_t m = 0; m < motions_.size(); ++m) {
      values_along_[static_cast<Eigen::Index>(m)] = motions_[m]->at(0.0).f;
    }
    Eigen::Index k = -1;
    for (const Coordinate& coordinate : coordinates_) {
      if (!coordinate.motion) continue;
      ++k;
      if (coordinate.unknown < 0) continue;
      const double slope = coordinate.f ? coordinate.f->at(u[coordinate.unknown]).d1 : 1.0;
      for (std::size_t s = 0; s < seen_.size(); ++s) {
        const FittedMarker& marker = markers_[seen_[s]];
        if (marker.body == ground) continue;
        const auto dq = along_.J.col(k).segment<coordinates_per_body>(coordinates_per_body *
                                                                      static_cast<Eigen::Index>(marker.body));
        Vector3 dp = dq.head<3>();
        for (Eigen::Index a = 0; a < 3; ++a) dp += marker.source->p_BM[a] * dq.segment<3>(3 + 3 * a);
        jacobian.col(coordinate.unknown).segment<3>(3 * static_cast<Eigen::Index>(s)) +=
            std::sqrt(marker.source->weight) * slope * dp;
      }
    }
    return jacobian;
  }

  [[nodiscard]] bool move_to(const Eigen::VectorXd& u) {
    if (is_at_ && u == u_) return true;
    const auto n = static_cast<Eigen::Index>(motions_.size());
    VectorX values(n);
    Eigen::Index k = 0;
    for (const Coordinate& coordinate : coordinates_) {
      if (!coordinate.motion) continue;
      if (coordinate.unknown >= 0) {
        const double by = u[coordinate.unknown];
        coordinate.motion->set({.f = coordinate.f ? coordinate.f->at(by).f : by});
      }
      values[k++] = coordinate.motion->at(0.0).f;
    }
    // Of a small change the directions predict the pose: the projection has little left to correct.
    constexpr double max_predicted = 0.3;  // [rad], [m]
    VectorX q = q_;
    if (along_.J.cols() == n && (values - values_along_).lpNorm<Eigen::Infinity>() < max_predicted) {
      q = q_along_ + along_.J * (values - values_along_);
    }
    VectorX qd = qd_;
    is_at_ = false;
    try {
      system_.project(0.0, q, qd);
    } catch (const RecoverableError& error) {
      error_ = error.what();
      return false;
    }
    q_ = q;
    u_ = u;
    is_at_ = true;
    return true;
  }

  [[nodiscard]] Vector3 position(std::size_t m) const {
    const FittedMarker& marker = markers_[m];
    return body_point(marker.body, marker.source->p_BM).value(q_);
  }

  System& system_;
  std::vector<Coordinate>& coordinates_;
  std::ptrdiff_t n_unknowns_;
  std::vector<FittedMarker> markers_;
  std::vector<Pull> pulls_;
  std::vector<std::shared_ptr<FrameMotion>> motions_;
  CoordinateDirections along_;  ///< at q_along_ and the values of the coordinates there; empty before the first
  VectorX q_along_, values_along_;
  std::size_t frame_ = 0;
  std::vector<std::size_t> seen_;
  Eigen::VectorXd start_;  ///< unknowns at the start of the frame
  VectorX q_, qd_;
  Eigen::VectorXd u_;
  bool is_at_ = false;
  std::string error_;
  std::string unreachable_;
};

std::vector<FittedMarker> find_markers(const InverseKinematicsTask& task, const Model& model) {
  if (task.markers.empty()) throw input_error("markers", "expected at least one marker, found none");
  if (task.times.empty()) throw input_error("trial", "expected at least one frame, found none");
  std::vector<FittedMarker> markers;
  for (const ModelMarker& marker : task.markers) {
    markers.push_back({.source = &marker, .body = find_body(model, marker.body, "marker " + marker.name)});
  }
  return markers;
}

/// The equivalent angles closest to the initial ones: large first steps may add whole turns.
void remove_turns(const std::vector<Coordinate>& coordinates, Eigen::VectorXd& u) {
  for (const Coordinate& coordinate : coordinates) {
    if (coordinate.unknown < 0 || coordinate.f) continue;
    const double period = coordinate.map->period(coordinate.place);
    if (!(period > 0.0)) continue;
    double& value = u[coordinate.unknown];
    value = coordinate.initial + std::remainder(value - coordinate.initial, period);
  }
}

/// Solves a frame from its start u, which becomes the solution.
/// @param is_first  of the frames with markers
InverseKinematicsFrame fitted_frame(MarkerFit& fit, std::size_t frame, const InverseKinematicsTask& task,
                                    const std::vector<Coordinate>& coordinates, bool is_first, Eigen::VectorXd& u) {
  // The first frame is far from its start, which the pull would leave in its coordinates; repeated, it is independent
  // of it.
  const int repetitions = is_first ? 4 : 1;
  int n_evaluations = 0;
  bool converged = true;
  std::string unreachable;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    if (repetition > 0) fit.begin(frame, u);
    Eigen::LevenbergMarquardt<MarkerFit> solver(fit);
    solver.parameters.ftol = solver.parameters.xtol = task.tolerance;
    solver.parameters.maxfev = task.max_evaluations;
    const Eigen::LevenbergMarquardtSpace::Status status = solver.minimize(u);
    // A solver whose steps cannot be reached ends like one that has converged: with steps of no length.
    unreachable = fit.unreachable(u);
    converged = status != Eigen::LevenbergMarquardtSpace::TooManyFunctionEvaluation && unreachable.empty();
    n_evaluations += static_cast<int>(solver.nfev);
    if (is_first) remove_turns(coordinates, u);
  }
  InverseKinematicsFrame solved = fit.frame_at(u);
  solved.n_evaluations = n_evaluations;
  solved.converged = converged;
  solved.unreachable = unreachable;
  return solved;
}

/// Solution of a frame, and which unknowns its markers do not determine.
struct SolvedFrame {
  Eigen::VectorXd u;
  Eigen::VectorXd turn_references;  ///< of the system
  std::vector<bool> undetermined;
};

/// Value of unknown i at the time of `frame`: linear between the frames that determine it, at the ends that of the
/// nearest one.
/// @param determining  increasing, not empty
double interpolated_unknown(const std::vector<SolvedFrame>& solved, const std::vector<double>& times,
                            const std::vector<std::size_t>& determining, std::size_t frame, std::size_t i) {
  const auto value = [&](std::size_t k) { return solved[k].u[static_cast<Eigen::Index>(i)]; };
  const auto next = std::ranges::lower_bound(determining, frame);
  if (next == determining.begin()) return value(determining.front());
  if (next == determining.end()) return value(determining.back());
  const std::size_t before = *(next - 1), after = *next;
  const double share = (times[frame] - times[before]) / (times[after] - times[before]);
  return (1.0 - share) * value(before) + share * value(after);
}

/// Starts of the frames for a second solution: interpolated where other frames determine an unknown.
std::vector<Eigen::VectorXd> interpolated_starts(const std::vector<SolvedFrame>& solved,
                                                 const std::vector<double>& times) {
  std::vector<Eigen::VectorXd> starts;
  for (const SolvedFrame& frame : solved) starts.push_back(frame.u);
  for (std::size_t i = 0; i < solved.front().undetermined.size(); ++i) {
    std::vector<std::size_t> determining;
    for (std::size_t frame = 0; frame < solved.size(); ++frame) {
      if (!solved[frame].undetermined[i]) determining.push_back(frame);
    }
    if (determining.empty()) continue;
    for (std::size_t frame = 0; frame < solved.size(); ++frame) {
      if (!solved[frame].undetermined[i]) continue;
      starts[frame][static_cast<Eigen::Index>(i)] = interpolated_unknown(solved, times, determining, frame, i);
    }
  }
  return starts;
}

std::vector<UndeterminedCoordinate> undetermined_coordinates(const std::vector<SolvedFrame>& solved,
                                                             const std::vector<Coordinate>& coordinates) {
  std::vector<UndeterminedCoordinate> result;
  for (const Coordinate& coordinate : coordinates) {
    if (coordinate.unknown < 0 || coordinate.f) continue;
    UndeterminedCoordinate found{.name = coordinate.name, .frames = {}};
    for (std::size_t frame = 0; frame < solved.size(); ++frame) {
      if (solved[frame].undetermined[static_cast<std::size_t>(coordinate.unknown)]) found.frames.push_back(frame);
    }
    if (!found.frames.empty()) result.push_back(std::move(found));
  }
  return result;
}

/// @throws Error{solver_failed} with the time for a RecoverableError of `solve`
template <typename Solve>
void solve_at(double time, Solve solve) {
  try {
    solve();
  } catch (const RecoverableError& error) {
    throw Error(ErrorCode::solver_failed, fmt::format("inverse kinematics at t = {:.6g} s: {}", time, error.what()));
  }
}

/// Index of the first frame with a marker. @throws Error{invalid_input} if there is none
std::size_t first_seen_frame(const MarkerFit& fit, std::size_t n_frames) {
  for (std::size_t frame = 0; frame < n_frames; ++frame) {
    if (fit.is_any_seen(frame)) return frame;
  }
  throw input_error("trial", fmt::format("expected a frame in which a marker of the model is seen, found none in {} "
                                         "frames; choose other times",
                                         n_frames));
}

}  // namespace

InverseKinematicsResult solve_inverse_kinematics(const Scenario& scenario, InverseKinematicsTask task,
                                                 const std::function<void(std::size_t)>& on_frame,
                                                 const std::stop_token& stop) {
  Model model = build_model(scenario);
  model.drivers.clear();
  std::vector<Coordinate> coordinates = find_coordinates(scenario, model);
  InverseKinematicsResult result;
  result.absent = remove_absent(task, coordinates);
  const std::ptrdiff_t n_unknowns = number_unknowns(task, coordinates);
  for (const Coordinate& coordinate : coordinates) {
    if (coordinate.motion) model.drivers.push_back(coordinate_driver(model, coordinate.name, coordinate.motion));
  }
  CoupledModel coupled(scenario, model, stop);
  coupled.assemble([](std::string_view, const std::string&) {});
  MarkerFit fit(coupled.system(), coordinates, n_unknowns, find_markers(task, model), find_pulls(task, coordinates),
                coupled.start());
  Eigen::VectorXd u(n_unknowns);
  for (const Coordinate& coordinate : coordinates) {
    result.coordinates.push_back(coordinate.name);
    result.rotates.push_back(coordinate.map->is_rotation(coordinate.place));
    if (coordinate.unknown >= 0 && !coordinate.f) u[coordinate.unknown] = coordinate.initial;
  }
  const std::size_t first = first_seen_frame(fit, task.times.size());
  std::vector<SolvedFrame> solved;
  for (std::size_t frame = 0; frame < task.times.size() && !stop.stop_requested(); ++frame) {
    solve_at(task.times[frame], [&] {
      fit.begin(frame, u);
      result.frames.push_back(fitted_frame(fit, frame, task, coordinates, frame == first, u));
      solved.push_back(
          {.u = u, .turn_references = coupled.system().turn_references(), .undetermined = fit.undetermined(u)});
    });
    on_frame(frame + 1);
  }
  if (stop.stop_requested()) return result;
  std::vector<Eigen::VectorXd> starts = interpolated_starts(solved, task.times);
  for (std::size_t frame = 0; frame < solved.size(); ++frame) {
    if (starts[frame] == solved[frame].u) continue;
    const int n_evaluations = result.frames[frame].n_evaluations;
    solve_at(task.times[frame], [&] {
      coupled.system().set_turn_references(solved[frame].turn_references);
      fit.begin(frame, starts[frame]);
      result.frames[frame] = fitted_frame(fit, frame, task, coordinates, false, starts[frame]);
    });
    result.frames[frame].n_evaluations += n_evaluations;
  }
  result.undetermined = undetermined_coordinates(solved, coordinates);
  return result;
}

}  // namespace heelstrike::mbs
