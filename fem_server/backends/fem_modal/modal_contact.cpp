#include "fem_server/backends/fem_modal/modal_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/pairing/solve_contact.hpp"

namespace heelstrike::fem {

namespace {

/// Gap, over the depth, up to which candidates are considered: the surface rises nowhere by more than B has pushed it
/// down. Candidates up to first_gap are solved for; the others are added when they penetrate.
constexpr double farthest_gap = 1.0;
constexpr double first_gap = 0.05;
/// Penetration of the others due to rounding, over the depth: the accuracy of the solver.
constexpr double allowed_penetration = 1e-10;

/// Within a step, the vibration is sampled at eighths of its shortest period, which miss its peaks by at most
/// 1 - cos(pi / 8) = 8 % of the amplitude: a contact less deep than that may remain unnoticed.
constexpr double samples_per_period = 8.0;
constexpr double max_samples = 200.0;
/// Contributions to the displacement, and depths of contact, below this share of it do not count.
constexpr double significant = 1e-3;
constexpr double noticeable_depth = 1e-6;

bool at_rest(const std::vector<ModeState>& modes) {
  return std::ranges::all_of(modes, [](const ModeState& m) { return m.q == 0.0 && m.v == 0.0 && m.g == 0.0; });
}

std::vector<Vector3> moved(const std::vector<Vector3>& points, const Eigen::VectorXd& u) {
  std::vector<Vector3> result = points;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] += u.segment<3>(row_of(i));
  return result;
}

}  // namespace

ModalContact::ModalContact(std::string name, ModalModel model, ParameterMap parameters)
    : ContactBackend({.parameters = std::move(parameters),
                      .expensive = model.points.size() >= 500,
                      .vibrates = model.modes.frequencies.size() > 0,
                      .vibrates_on_support = model.modes.frequencies.size() > 0 && model.clamped,
                      .regions = region_names(model.regions)}),
      name_(std::move(name)),
      model_(std::move(model)) {}

std::shared_ptr<const History> ModalContact::initial_history() const {
  return ModalHistory::of_backend(name_);
}

std::shared_ptr<const History> ModalContact::load_history(std::string_view bytes) const {
  auto history = ModalHistory::load(bytes, name_);
  const auto expected = static_cast<std::size_t>(model_.modes.frequencies.size());
  if (history->modes.size() == (history->t ? expected : 0)) return history;
  throw input_error("state", fmt::format("history of back-end '{}': expected {} modes, found {}; the bytes belong to "
                                         "another body",
                                         name_, expected, history->modes.size()));
}

ModalContact::Vibration ModalContact::vibration(const ModalHistory& history, const PairState& state) const {
  const Eigen::VectorXd& omega = model_.modes.frequencies;
  Vibration result{.steps = {},
                   .q_free = Eigen::VectorXd::Zero(omega.size()),
                   .modal_compliance = omega.cwiseProduct(omega).cwiseInverse()};
  if (!history.t) return result;
  const double h = state.t - *history.t;
  if (h < 0.0) {
    throw input_error("state.t",
                      fmt::format("{}: the body vibrates in time: expected a state at or after the commit at "
                                  "{} s, found one at {} s",
                                  name_, *history.t, state.t));
  }
  for (Eigen::Index k = 0; k < omega.size(); ++k) {
    const ModeStep& step = result.steps.emplace_back(omega[k], model_.damping, h);
    result.q_free[k] = step.released(history.modes[static_cast<std::size_t>(k)]);
    result.modal_compliance[k] = step.modal_compliance();
  }
  return result;
}

std::vector<ModalContact::NearPoint> ModalContact::find_near(const PairState& state, const std::vector<Vector3>& points,
                                                             Solution& solution) const {
  const Pose X_BA = state.X_AB.inverse();
  std::vector<double> gaps;
  for (const Vector3& point : points) gaps.push_back(model_.partner->gap(X_BA * point, 0.0));
  solution.gap = std::ranges::min(gaps);
  if (solution.gap > 0.0) {  // outside these are lower bounds only
    const double bound = solution.gap;
    solution.gap = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (gaps[i] >= solution.gap) continue;
      gaps[i] = model_.partner->closest(X_BA * points[i]).gap;
      solution.gap = std::min(solution.gap, gaps[i]);
    }
    solution.gap = std::max(solution.gap, bound);
  }
  const auto deepest = static_cast<std::size_t>(std::ranges::min_element(gaps) - gaps.begin());
  solution.closest.x = points[deepest];
  solution.closest.surface = surface_in_A(*model_.partner, state.X_AB, points[deepest]);
  std::vector<NearPoint> near;
  if (solution.gap >= 0.0) return near;
  solution.overlap = -solution.gap;
  for (std::uint32_t i = 0; i < points.size(); ++i) {
    if (gaps[i] > farthest_gap * solution.overlap) continue;
    near.push_back({.candidate = i, .surface = surface_in_A(*model_.partner, state.X_AB, points[i])});
  }
  return near;
}

void ModalContact::measure_undeformed(const PairState& state, Solution& solution) const {
  const Pose X_BA = state.X_AB.inverse();
  double smallest = 0.0;
  const Vector3* deepest = nullptr;
  for (const Vector3& x : model_.points) {
    const double gap = model_.partner->gap(X_BA * x, 0.0);
    if (gap >= smallest) continue;
    smallest = gap;
    deepest = &x;
  }
  // A body that bulges due to its vibration touches before its undeformed shape does.
  if (deepest != nullptr) {
    solution.gap = smallest;
    solution.closest.x = *deepest;
    solution.closest.surface = surface_in_A(*model_.partner, state.X_AB, *deepest);
  }
  check_depth(solution, model_.options, state);
}

std::vector<std::size_t> ModalContact::within_reach(const ModalHistory& history, const PairState& state,
                                                    const Eigen::VectorXd& reach) const {
  const Pose X_BA_before = history.X_AB.inverse();
  const Pose X_BA = state.X_AB.inverse();
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < model_.points.size(); ++i) {
    const Vector3& x = model_.points[i];
    const double gap = std::min(model_.partner->gap(X_BA_before * x, 0.0), model_.partner->gap(X_BA * x, 0.0));
    if (gap < reach[static_cast<Eigen::Index>(i)]) found.push_back(i);
  }
  return found;
}

Eigen::MatrixXd ModalContact::largest_displacements(const std::vector<ModeState>& modes) const {
  const Eigen::VectorXd& omega = model_.modes.frequencies;
  Eigen::MatrixXd parts(static_cast<Eigen::Index>(model_.points.size()), omega.size());
  for (Eigen::Index k = 0; k < omega.size(); ++k) {
    const ModeState& mode = modes[static_cast<std::size_t>(k)];
    const double amplitude = std::hypot(mode.q, mode.v / omega[k]);
    for (Eigen::Index i = 0; i < parts.rows(); ++i) parts(i, k) = amplitude * model_.Phi.block<3, 1>(3 * i, k).norm();
  }
  return parts;
}

void ModalContact::reject_missed_contact(const ModalHistory& history, const PairState& state) const {
  const double h = state.t - *history.t;
  if (h == 0.0 || at_rest(history.modes)) return;
  const Eigen::MatrixXd parts = largest_displacements(history.modes);
  const Eigen::VectorXd reach = parts.rowwise().sum();
  const std::vector<std::size_t> near = within_reach(history, state, reach);
  if (near.empty()) return;
  double farthest = 0.0;
  for (const std::size_t i : near) farthest = std::max(farthest, reach[static_cast<Eigen::Index>(i)]);
  double fastest = 0.0;
  for (Eigen::Index k = 0; k < parts.cols(); ++k) {
    const bool counts = std::ranges::any_of(
        near, [&](std::size_t i) { return parts(static_cast<Eigen::Index>(i), k) > significant * farthest; });
    if (counts) fastest = std::max(fastest, model_.modes.frequencies[k]);
  }
  const double n_samples = std::ceil(samples_per_period * h * fastest / (2.0 * std::numbers::pi));
  const bool is_unknown = n_samples > max_samples;
  if (!is_unknown && !touches_between(history, state, near, n_samples, noticeable_depth * farthest)) return;
  throw RecoverableError(
      fmt::format("{}: the vibrating body {} its partner within the step of {:g} s after t = {} s; it needs shorter "
                  "steps",
                  name_, is_unknown ? "may touch" : "touches", h, *history.t));
}

bool ModalContact::touches_between(const ModalHistory& history, const PairState& state,
                                   const std::vector<std::size_t>& near, double n_samples, double depth) const {
  const double h = state.t - *history.t;
  const Eigen::VectorXd& omega = model_.modes.frequencies;
  const Quaternion before = quaternion_from_rotation(history.X_AB.R);
  const Quaternion after = quaternion_from_rotation(state.X_AB.R);
  Eigen::VectorXd q(omega.size());
  for (double sample = 1.0; sample < n_samples; sample += 1.0) {
    const double part = sample / n_samples;
    for (Eigen::Index k = 0; k < omega.size(); ++k) {
      q[k] = ModeStep(omega[k], model_.damping, part * h).released(history.modes[static_cast<std::size_t>(k)]);
    }
    const Pose X_BA = Pose{.R = rotation_from_quaternion(before.slerp(part, after)),
                           .p = history.X_AB.p + part * (state.X_AB.p - history.X_AB.p)}
                          .inverse();
    const bool touches = std::ranges::any_of(near, [&](std::size_t i) {
      const Vector3 x = model_.points[i] + model_.Phi.middleRows<3>(row_of(i)) * q;
      return model_.partner->gap(X_BA * x, 0.0) < -depth;
    });
    if (touches) return true;
  }
  return false;
}

SurfaceCompliance ModalContact::compliance_of(const std::vector<std::uint32_t>& candidates,
                                              const Eigen::VectorXd& modal_compliance) const {
  const std::size_t n = candidates.size();
  std::vector<double> blocks = copied_blocks(model_.compliance, candidates).data();
  Eigen::MatrixXd Phi(3 * static_cast<Eigen::Index>(n), modal_compliance.size());
  for (std::size_t i = 0; i < n; ++i) Phi.middleRows<3>(row_of(i)) = model_.Phi.middleRows<3>(row_of(candidates[i]));
  const Eigen::MatrixXd change = Phi * differentiate_modal_compliance(modal_compliance).asDiagonal() * Phi.transpose();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      Eigen::Map<Matrix3> block(blocks.data() + 9 * (j * n + i));
      block += change.block<3, 3>(row_of(i), row_of(j));
      if (i == j) block = (0.5 * (block + block.transpose())).eval();
      Eigen::Map<Matrix3>(blocks.data() + 9 * (i * n + j)) = block.transpose().eval();
    }
  }
  return {n, std::move(blocks)};
}

Eigen::VectorXd ModalContact::differentiate_modal_compliance(const Eigen::VectorXd& modal_compliance) const {
  return modal_compliance - model_.modes.frequencies.cwiseAbs2().cwiseInverse();
}

Eigen::VectorXd ModalContact::modal_force(const Solution& solution) const {
  Eigen::VectorXd g = Eigen::VectorXd::Zero(model_.modes.frequencies.size());
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    g += model_.Phi.middleRows<3>(row_of(solution.touching[i])).transpose() * solution.nodes[i].force();
  }
  return g;
}

std::vector<std::size_t> ModalContact::penetrating(const std::vector<NearPoint>& others, const Vibration& vibration,
                                                   const Solution& solution) const {
  std::vector<std::uint32_t> numbers;
  for (const NearPoint& other : others) numbers.push_back(other.candidate);
  NodeFields<1> forces(row_of(solution.nodes.size()));
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) forces.segment<3>(row_of(i)) = solution.nodes[i].force();
  const NodeFields<1> u = displacement(model_.compliance, numbers, solution.touching, forces);
  const Eigen::VectorXd q =
      differentiate_modal_compliance(vibration.modal_compliance).cwiseProduct(modal_force(solution));
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Vector3 moved = u.segment<3>(row_of(i)) + model_.Phi.middleRows<3>(row_of(numbers[i])) * q;
    const SurfacePoint& surface = others[i].surface;
    if (surface.gap + surface.normal.dot(moved) < -allowed_penetration * solution.overlap) found.push_back(i);
  }
  return found;
}

void ModalContact::finish_modes(const ModalHistory& history, const Vibration& vibration, Solution& solution) const {
  const Eigen::VectorXd g = modal_force(solution);
  double before = 0.0;
  double damped = 0.0;
  for (Eigen::Index k = 0; k < g.size(); ++k) {
    const bool starts = vibration.steps.empty();
    const ModeStep step =
        starts ? ModeStep(model_.modes.frequencies[k], 0.0, 0.0) : vibration.steps[static_cast<std::size_t>(k)];
    const ModeState last = starts ? ModeState{} : history.modes[static_cast<std::size_t>(k)];
    const ModeState& now = solution.modes.emplace_back(
        starts ? ModeState{.q = vibration.modal_compliance[k] * g[k], .v = 0.0, .g = g[k]} : step.after(last, g[k]));
    before += step.energy(last);
    if (!starts) damped += step.dissipated(last, now);
    // The contact problem counts the current compliance of the modes as elastic; this replaces it by the modes' energy.
    solution.energy += step.energy(now) - 0.5 * vibration.modal_compliance[k] * g[k] * g[k];
  }
  // The remaining energy of a released body is reported as dissipated at release, and as regained at the next contact.
  if (!solution.nodes.empty()) {
    solution.dissipated = history.touches ? damped : damped - before;
  } else if (history.touches) {
    solution.dissipated = damped + solution.energy;
  }
}

void ModalContact::solve_contact_of(const std::vector<NearPoint>& chosen, const std::vector<Vector3>& points,
                                    const PairState& state, const Vibration& vibration, bool tangents,
                                    Solution& solution) const {
  solution.discard_points();
  for (const NearPoint& point : chosen) {
    solution.add_point(point.candidate, nullptr, point.surface, points[point.candidate], model_.areas[point.candidate]);
  }
  solution.use_own_compliance(compliance_of(solution.near_candidates, vibration.modal_compliance));
  solve_frictionless(state, model_.options, tangents, solution);
}

ModalContact::Solution ModalContact::solve(const ModalHistory& history, const PairState& state, bool tangents) const {
  const Vibration now = vibration(history, state);
  const std::vector<Vector3> points = moved(model_.points, model_.Phi * now.q_free);
  Solution solution;
  std::vector<NearPoint> others = find_near(state, points, solution);
  if (!others.empty()) measure_undeformed(state, solution);
  if (others.empty() && history.t && !history.touches) reject_missed_contact(history, state);
  std::vector<NearPoint> chosen;
  std::vector<std::size_t> joining;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (others[i].surface.gap <= first_gap * solution.overlap) joining.push_back(i);
  }
  while (!joining.empty()) {
    for (const std::size_t i : joining) chosen.push_back(others[i]);
    for (auto i = joining.rbegin(); i != joining.rend(); ++i)
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(*i));
    std::ranges::sort(chosen, {}, &NearPoint::candidate);
    solve_contact_of(chosen, points, state, now, tangents, solution);
    joining = penetrating(others, now, solution);
  }
  finish_modes(history, now, solution);
  return solution;
}

Response ModalContact::make_response(const Solution& solution, const std::optional<double>& approach_velocity,
                                     const PairState& state) const {
  Response response =
      solved_response(solution, model_.options, model_.pressure, model_.regions, approach_velocity, state);
  if (!solution.nodes.empty()) response.stored_energy += solution.energy;
  response.dissipated_increment = solution.dissipated;
  if (at_rest(solution.modes)) response.bound = gap_bound(ball_around(model_.points), *model_.partner);
  return response;
}

Response ModalContact::evaluate(const History& history, const PairState& state, const EvaluateOptions& options) const {
  const ModalHistory& own = ModalHistory::from(history);
  return make_response(solve(own, state, options.tangents), own.approach_velocity, state);
}

Committed ModalContact::commit(const History& history, const PairState& state, const EvaluateOptions& options) const {
  const ModalHistory& own = ModalHistory::from(history);
  const Solution solution = solve(own, state, false);
  auto next = ModalHistory::of_backend(name_);
  next->approach_velocity = latched_speed(solution, model_.options, own.approach_velocity, state);
  next->t = state.t;
  next->X_AB = state.X_AB;
  next->touches = !solution.nodes.empty();
  next->modes = solution.modes;
  Response response = make_response(solve(*next, state, options.tangents), next->approach_velocity, state);
  response.dissipated_increment = solution.dissipated;
  return {.history = std::move(next), .response = response};
}

std::string ModalContact::fields(const History& history, const PairState& state, const FieldRequest& request) const {
  if (request.part == FieldPart::partner) return model_.fields->write_partner(state.X_AB, request);
  const ModalHistory& own = ModalHistory::from(history);
  const Solution solution = solve(own, state, false);
  const std::vector<double> factors = hysteresis_factors(solution, model_.options, own.approach_velocity, state);
  std::vector<Vector3> elastic(model_.points.size(), Vector3::Zero());
  std::vector<Vector3> drawn = elastic;
  std::vector<Vector3> normals = elastic;
  for (std::size_t i = 0; i < solution.nodes.size(); ++i) {
    const ContactNodeState& node = solution.nodes[i];
    elastic[solution.touching[i]] = node.force();
    drawn[solution.touching[i]] = factors[i] * node.force();
    normals[solution.touching[i]] = node.surface.normal;
  }
  FieldState picture = model_.fields->linear_state(std::move(elastic));
  // Difference between the coordinates of the modes and their static ones.
  for (std::size_t k = 0; k < solution.modes.size(); ++k) {
    const auto column = static_cast<Eigen::Index>(k);
    const double omega = model_.modes.frequencies[column];
    const ModeState& mode = solution.modes[k];
    picture.displacement += (mode.q - mode.g / (omega * omega)) * model_.modes.shapes.col(column);
  }
  picture.stress = linear_stress(model_.fields->body(), picture.displacement);
  picture.forces = std::move(drawn);
  return model_.fields->write_body_fields(picture, normals, request);
}

}  // namespace heelstrike::fem
