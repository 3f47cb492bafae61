#include "mbs_server/formulation/coordinate_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {
namespace {

/// Slope below which an axis counts as independent of a coordinate [rad or m per unit].
constexpr double min_slope = 1e-9;

/// Rotation by y about a unit vector: R' = S R, R'' = S^2 R.
Along<Matrix3> rotation_about(const Vector3& axis, const Jet& y) {
  const Matrix3 S = skew(axis);
  const Matrix3 R = Matrix3::Identity() + std::sin(y.f) * S + (1.0 - std::cos(y.f)) * S * S;
  const Matrix3 SR = S * R;
  return {R, y.d * SR, y.dd * SR + y.d * y.d * (S * SR)};
}

Along<Matrix3> from_left(const Matrix3& S, const Along<Matrix3>& a) {
  return mapped(a, [&](const Matrix3& m) { return Matrix3(S * m); });
}

/// The equivalent angle closest to `near`.
double wrapped(double angle, double near) {
  return near + std::remainder(angle - near, 2.0 * std::numbers::pi);
}

/// The equivalent angle closest to `reference`, by its turns from the value closest to `near`: a motion within half a
/// turn of `near` does not depend on the reference.
double counted(double angle, double near, double reference) {
  constexpr double turn = 2.0 * std::numbers::pi;
  const double first = wrapped(angle, near);
  const double turns = std::nearbyint((reference - first) / turn);
  return turns == 0.0 ? first : first + turn * turns;
}

/// Angle about `axis` from x to y; `fallback` where one of them lies on the axis.
double angle_between(const Vector3& axis, const Vector3& x, const Vector3& y, double fallback) {
  const double sine = axis.dot(x.cross(y));
  const double cosine = x.dot(y) - axis.dot(x) * axis.dot(y);
  return std::hypot(sine, cosine) < 1e-12 ? fallback : std::atan2(sine, cosine);
}

bool is_same(const VectorX& a, const VectorX& b) {
  return a.size() == b.size() && a == b;
}

bool moves(const MotionAxis::Term& term, double near) {
  return std::abs(term.f->at(near).d1) > min_slope;
}

}  // namespace

CoordinateMap::CoordinateMap(JointSide a, JointSide b, CoordinateTransform transform)
    : a_(std::move(a)), b_(std::move(b)), transform_(std::move(transform)), reference_(initial_values()) {
  for (const BodyIndex body : {a_.body, b_.body}) {
    if (body == ground) continue;
    for (int k = 0; k < coordinates_per_body; ++k) indices_.push_back(coordinates_per_body * body + k);
  }
  choose_coordinate_axes();
  Matrix3 T;
  for (Eigen::Index k = 0; k < 3; ++k) T.col(k) = transform_.axes[static_cast<std::size_t>(3 + k)].direction;
  if (std::abs(T.determinant()) < 1e-6) {
    throw input_error("translations", "expected three directions of translations that are not coplanar");
  }
  duals_ = T.inverse();
  Values near{};
  for (std::size_t i = 0; i < n(); ++i) near[i].f = transform_.near[i];
  if (rotating_.size() != 1) return;
  const Vector3 axis = rotations_at(near).axes[own_[rotating_[0]]].v.f;
  Eigen::Index least = 0;
  axis.cwiseAbs().minCoeff(&least);
  across_[0] = axis.cross(Vector3::Unit(least)).normalized();
  across_[1] = axis.cross(across_[0]);
}

/// The axis assigned to a coordinate is one that only this coordinate moves. Linear functions are preferred to others,
/// and rotations to translations, since a coupled rotation and translation is best determined by its angle.
void CoordinateMap::choose_coordinate_axes() {
  constexpr std::size_t none = 6;
  own_.assign(n(), none);
  std::array<bool, 6> taken{};
  const auto choose = [&](bool linear, std::size_t first, std::size_t last) {
    for (std::size_t i = 0; i < n(); ++i) {
      double max_slope = 0.0;
      std::size_t best = none;
      for (std::size_t k = first; k < last; ++k) {
        for (const auto& term : transform_.axes[k].terms) {
          if (taken[k] || term.coordinate != i || !moves(term, transform_.near[i])) continue;
          if (linear && !(term.f->is_linear() && transform_.axes[k].terms.size() == 1)) continue;
          const double slope = std::abs(term.f->at(transform_.near[i]).d1);
          if (slope > max_slope) best = k;
          max_slope = std::max(slope, max_slope);
        }
      }
      if (own_[i] != none || best == none) continue;
      own_[i] = best;
      taken[best] = true;
    }
  };
  for (const bool linear : {true, false}) {
    choose(linear, 0, 3);
    choose(linear, 3, 6);
  }
  for (std::size_t i = 0; i < n(); ++i) {
    if (own_[i] == none) {
      throw input_error(
          "coordinates",
          fmt::format("expected coordinates that each rotate or translate the joint independently at their "
                      "initial values, found that '{}' does not; remove it",
                      transform_.names[i]));
    }
    if (own_[i] < 3) rotating_.push_back(i);
  }
}

double CoordinateMap::period(std::size_t coordinate) const {
  if (own_[coordinate] > 2) return 0.0;
  for (const auto& term : transform_.axes[own_[coordinate]].terms) {
    if (term.coordinate != coordinate || !term.f->is_linear()) continue;
    return 2.0 * std::numbers::pi / std::abs(term.f->at(0.0).d1);
  }
  return 0.0;
}

bool CoordinateMap::is_pure_rotation() const {
  if (rotating_.size() != 3) return false;
  return std::all_of(transform_.axes.begin(), transform_.axes.begin() + 3, [&](const MotionAxis& axis) {
    return std::ranges::all_of(axis.terms, [&](const auto& term) { return is_rotation(term.coordinate); });
  });
}

Along<Matrix3> CoordinateMap::rotated(const std::vector<Jet>& angles) const {
  Values u{};
  for (std::size_t k = 0; k < rotating_.size(); ++k) u[rotating_[k]] = angles.at(k);
  return rotations_at(u).Q;
}

CoordinateMap::Frames CoordinateMap::frames(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd) const {
  Along<Vector3> from, to;
  const auto side = [&](const JointSide& s, Along<Vector3>& p) {
    if (s.body == ground) {
      p = Along<Vector3>::constant(s.X_BF.p);
      return Along<Matrix3>::constant(s.X_BF.R);
    }
    const Eigen::Index first = coordinates_per_body * static_cast<Eigen::Index>(s.body);
    const auto part = [&](const ConstVector& x, Vector3& point) {
      const Matrix3 V = Eigen::Map<const Matrix3>(x.data() + first + 3);
      point = x.segment<3>(first) + V * s.X_BF.p;
      return Matrix3(V * s.X_BF.R);
    };
    Along<Matrix3> axes;
    axes.f = part(q, p.f);
    axes.d = part(qd, p.d);
    axes.dd = part(qdd, p.dd);
    return axes;
  };
  Frames at;
  at.A = side(a_, from);
  at.B = side(b_, to);
  at.r_W = to - from;
  const Along<Matrix3> A_t = transposed(at.A);
  at.R = A_t * at.B;
  at.r = A_t * at.r_W;
  return at;
}

Jet CoordinateMap::axis_value(std::size_t axis, const Values& u) const {
  Jet y{.f = transform_.axes[axis].constant};
  for (const auto& term : transform_.axes[axis].terms) {
    const FunctionValue f = term.f->at(u[term.coordinate].f);
    y = y + chain(u[term.coordinate], f.f, f.d1, f.d2);
  }
  return y;
}

std::array<double, 6> CoordinateMap::axis_values(const ConstVector& u) const {
  Values jets{};
  for (std::size_t i = 0; i < n(); ++i) jets[i].f = u[static_cast<Eigen::Index>(i)];
  std::array<double, 6> y{};
  for (std::size_t k = 0; k < 6; ++k) y[k] = axis_value(k, jets).f;
  return y;
}

Jet CoordinateMap::axis_slope(std::size_t axis, std::size_t coordinate, const Values& u) const {
  Jet slope;
  for (const auto& term : transform_.axes[axis].terms) {
    if (term.coordinate != coordinate) continue;
    const FunctionValue f = term.f->at(u[coordinate].f);
    slope = slope + chain(u[coordinate], f.d1, f.d2, f.d3);
  }
  return slope;
}

CoordinateMap::Rotations CoordinateMap::rotations_at(const Values& u) const {
  const std::array<Vector3, 3> a = {transform_.axes[0].direction, transform_.axes[1].direction,
                                    transform_.axes[2].direction};
  const Along<Matrix3> R1 = rotation_about(a[0], axis_value(0, u));
  const Along<Matrix3> R2 = rotation_about(a[1], axis_value(1, u));
  const Along<Matrix3> R3 = rotation_about(a[2], axis_value(2, u));
  const Along<Matrix3> R2_rotated = from_left(skew(a[1]), R2);
  const Along<Matrix3> R3_rotated = from_left(skew(a[2]), R3);
  const Along<Matrix3> R12 = R1 * R2;
  Rotations rotations;
  rotations.Q = R12 * R3;
  rotations.by_rotation = {from_left(skew(a[0]), rotations.Q), R1 * R2_rotated * R3, R12 * R3_rotated};
  const auto applied = [](const Along<Matrix3>& M, const Vector3& v) {
    return mapped(M, [&](const Matrix3& m) { return Vector3(m.transpose() * v); });
  };
  const Along<Vector3> zero = Along<Vector3>::constant(Vector3::Zero());
  const Along<Matrix3> R23 = R2 * R3;
  rotations.axes[0] = {applied(R23, a[0]), {zero, applied(R2_rotated * R3, a[0]), applied(R2 * R3_rotated, a[0])}};
  rotations.axes[1] = {applied(R3, a[1]), {zero, zero, applied(R3_rotated, a[1])}};
  rotations.axes[2] = {Along<Vector3>::constant(a[2]), {zero, zero, zero}};
  return rotations;
}

/// d . axial vector of Q'R = 1/2 <Q skew(d), R>.
CoordinateMap::Row CoordinateMap::rotation_row(const Rotations& rotations, const Direction& d, const Along<Matrix3>& R,
                                               const Values& u) const {
  const Jet half{.f = 0.5};
  Row row;
  row.G = half * (rotations.Q * skew_along(d.v));
  row.value = inner_along(row.G, R);
  for (std::size_t k = 0; k < 3; ++k) {
    if (transform_.axes[k].terms.empty()) continue;
    const Jet by_rotation = inner_along(
        half * (rotations.by_rotation[k] * skew_along(d.v) + rotations.Q * skew_along(d.by_rotation[k])), R);
    for (std::size_t i = 0; i < n(); ++i) row.by_u[i] = row.by_u[i] + by_rotation * axis_slope(k, i, u);
  }
  return row;
}

/// Translation of b's origin along t_k, without that on an ellipsoid, minus the value that the coordinates prescribe.
CoordinateMap::Row CoordinateMap::translation_row(std::size_t axis, const Frames& at, const Values& u) const {
  Row row;
  row.h = duals_.row(static_cast<Eigen::Index>(axis - 3)).transpose();
  Matrix3 G = Matrix3::Zero();
  G.col(2) = -row.h.cwiseProduct(transform_.radii);
  row.G = Along<Matrix3>::constant(G);
  row.value = inner_along(row.G, at.R) + inner_along(Along<Vector3>::constant(row.h), at.r) - axis_value(axis, u);
  for (std::size_t i = 0; i < n(); ++i) row.by_u[i] = -axis_slope(axis, i, u);
  return row;
}

void CoordinateMap::add_rotation_rows(const Rotations& rotations, const Along<Matrix3>& R, const Values& u,
                                      Rows& rows) const {
  const Along<Vector3> zero = Along<Vector3>::constant(Vector3::Zero());
  const auto fixed = [&](const Vector3& d) { return Direction{Along<Vector3>::constant(d), {zero, zero, zero}}; };
  std::size_t next = n();
  const auto add = [&](std::size_t place, const Direction& d) { rows[place] = rotation_row(rotations, d, R, u); };
  if (rotating_.size() == 3 || rotating_.empty()) {
    for (std::size_t k = 0; k < 3; ++k) {
      add(rotating_.empty() ? next++ : rotating_[k], fixed(Vector3::Unit(static_cast<Eigen::Index>(k))));
    }
    return;
  }
  for (const std::size_t i : rotating_) add(i, rotations.axes[own_[i]]);
  if (rotating_.size() == 1) {
    for (const Vector3& d : across_) add(next++, fixed(d));
    return;
  }
  const Direction& x = rotations.axes[own_[rotating_[0]]];
  const Direction& y = rotations.axes[own_[rotating_[1]]];
  Direction normal{cross_along(x.v, y.v), {}};
  for (std::size_t k = 0; k < 3; ++k)
    normal.by_rotation[k] = cross_along(x.by_rotation[k], y.v) + cross_along(x.v, y.by_rotation[k]);
  add(next, normal);
}

CoordinateMap::Rows CoordinateMap::rows_at(const Frames& at, const Values& u) const {
  Rows rows;
  add_rotation_rows(rotations_at(u), at.R, u, rows);
  std::size_t next = n() + 3 - rotating_.size();
  for (std::size_t axis = 3; axis < 6; ++axis) {
    const auto owner = std::ranges::find(own_, axis);
    const std::size_t place = owner == own_.end() ? next++ : static_cast<std::size_t>(owner - own_.begin());
    rows[place] = translation_row(axis, at, u);
  }
  return rows;
}

/// Angles y_1, y_2, y_3 of R, and the translations, found in sequence: R a_3 has the component
///   a_1.R_2(y_2) a_3 = c + C cos y_2 + S sin y_2
/// along a_1, from which y_2 follows up to a sign; y_1 rotates R_2 a_3 into R a_3, y_3 rotates R' a_1 into R_2' a_1.
/// For orthogonal axes both signs give the same pose; the sign is chosen by the other axes that the coordinates
/// prescribe, or else by the reference.
std::array<double, 6> CoordinateMap::axis_guess(const Matrix3& R, const Vector3& p) const {
  const Vector3 &a1 = transform_.axes[0].direction, &a2 = transform_.axes[1].direction,
                &a3 = transform_.axes[2].direction;
  const std::array<double, 6> near = axis_values(initial_values());
  const std::array<double, 6> reference = axis_values(reference_);
  std::array<double, 6> y{};
  const double c = a1.dot(a2) * a2.dot(a3), C = a1.dot(a3) - c, S = a1.dot(a2.cross(a3));
  const double middle = std::atan2(S, C);
  const double amplitude = std::hypot(C, S);
  // A second axis parallel to the first or the third gives no information: no coordinate rotates about it there.
  const double spread = amplitude < 1e-9 ? 0.0 : std::acos(std::clamp((a1.dot(R * a3) - c) / amplitude, -1.0, 1.0));
  double best = 0.0;
  for (const double sign : {1.0, -1.0}) {
    std::array<double, 3> angles{};
    angles[1] = counted(middle + sign * spread, near[1], reference[1]);
    const Matrix3 R2 = rotation_about(a2, {.f = angles[1]}).f;
    angles[0] = counted(angle_between(a1, R2 * a3, R * a3, reference[0]), near[0], reference[0]);
    angles[2] =
        counted(angle_between(a3, R.transpose() * a1, R2.transpose() * a1, reference[2]), near[2], reference[2]);
    // Axes that no coordinate rotates must keep their angle; this criterion precedes the distance to the reference.
    double distance = 0.0;
    for (std::size_t k = 0; k < 3; ++k) {
      const bool is_fixed = std::ranges::find(own_, k) == own_.end();
      distance += (is_fixed ? 1e6 : 1.0) * std::abs(angles[k] - reference[k]);
    }
    if (sign > 0.0 || distance < best) {
      best = distance;
      std::ranges::copy(angles, y.begin());
    }
  }
  const Vector3 shifts = duals_ * (p - transform_.radii.cwiseProduct(R.col(2)));
  for (std::size_t k = 0; k < 3; ++k) y[3 + k] = shifts[static_cast<Eigen::Index>(k)];
  return y;
}

/// Each coordinate from its assigned axis, with the others at their initial values, or at their reference once a
/// rotation has left the initial half turn.
VectorX CoordinateMap::guess(const Frames& at) const {
  const std::array<double, 6> y = axis_guess(at.R.f, at.r.f);
  const std::array<double, 6> near = axis_values(initial_values());
  const bool has_turned = std::ranges::any_of(
      rotating_, [&](std::size_t i) { return std::abs(y[own_[i]] - near[own_[i]]) > std::numbers::pi; });
  VectorX u = has_turned ? reference_ : VectorX(initial_values());
  for (std::size_t i = 0; i < n(); ++i) {
    const MotionAxis& axis = transform_.axes[own_[i]];
    double& x = u[static_cast<Eigen::Index>(i)];
    // One step for a linear function, a few for others; only an initial guess is needed.
    for (int step = 0; step < 8; ++step) {
      double misfit = axis.constant - y[own_[i]];
      double slope = 0.0;
      for (const auto& term : axis.terms) {
        const FunctionValue f = term.f->at(u[static_cast<Eigen::Index>(term.coordinate)]);
        misfit += f.f;
        if (term.coordinate == i) slope += f.d1;
      }
      if (std::abs(slope) < min_slope || std::abs(misfit) < 1e-14) break;
      x -= misfit / slope;
    }
  }
  return u;
}

VectorX CoordinateMap::solve(const Frames& at) const {
  const auto m = static_cast<Eigen::Index>(n());
  VectorX u = guess(at);
  Square E_u(m, m);
  VectorX E(m);
  // Newton's method converges quadratically: after a step of 1e-9 the remaining error is rounding.
  for (int iteration = 0; iteration < 50; ++iteration) {
    Values values{};
    for (std::size_t i = 0; i < n(); ++i) values[i].f = u[static_cast<Eigen::Index>(i)];
    const Rows rows = rows_at(at, values);
    for (Eigen::Index r = 0; r < m; ++r) {
      const Row& row = rows[static_cast<std::size_t>(r)];
      E[r] = row.value.f;
      for (Eigen::Index i = 0; i < m; ++i) E_u(r, i) = row.by_u[static_cast<std::size_t>(i)].f;
    }
    const VectorX step = E_u.partialPivLu().solve(E);
    if (!step.allFinite()) break;
    const double length = step.lpNorm<Eigen::Infinity>();
    u -= length > 0.5 ? VectorX(step * (0.5 / length)) : step;
    if (length < 1e-9 * (1.0 + u.lpNorm<Eigen::Infinity>())) return u;
  }
  throw RecoverableError(fmt::format("the coordinates {} of a joint do not follow from the poses of its bodies",
                                     fmt::join(transform_.names, ", ")));
}

Eigen::Matrix<double, 6, 1> CoordinateMap::values(const ConstVector& q) const {
  const VectorX zero = VectorX::Zero(q.size());
  const Frames at = frames(q, zero, zero);
  const VectorX u = solve(at);
  Values jets{};
  for (std::size_t i = 0; i < n(); ++i) jets[i].f = u[static_cast<Eigen::Index>(i)];
  const Rows local_rows = rows_at(at, jets);
  Eigen::Matrix<double, 6, 1> values;
  for (std::size_t r = n(); r < 6; ++r) values[static_cast<Eigen::Index>(r - n())] = local_rows[r].value.f;
  values.tail(u.size()) = u;
  return values;
}

bool CoordinateMap::on_intended_branch(const ConstVector& q) const {
  const VectorX zero = VectorX::Zero(q.size());
  const Frames at = frames(q, zero, zero);
  const VectorX u = solve(at);
  Values jets{};
  for (std::size_t i = 0; i < n(); ++i) jets[i].f = u[static_cast<Eigen::Index>(i)];
  // 1 + 2 cos of the angle between both.
  return rotations_at(jets).Q.f.cwiseProduct(at.R.f).sum() > 1.0;
}

void CoordinateMap::set_reference(const ConstVector& values) {
  reference_ = values;
  gradients_.at.resize(0);
  hessians_.at.resize(0);
}

VectorX CoordinateMap::reference_at(const ConstVector& q) const {
  return values(q).tail(reference_.size());
}

VectorX CoordinateMap::reference_rates(const ConstVector& q, const ConstVector& qd) const {
  const VectorX zero = VectorX::Zero(q.size());
  return gradients(q, zero, zero).f.bottomRows(reference_.size()) * qd(indices_);
}

const GradientsAlong& CoordinateMap::gradients(const ConstVector& q, const ConstVector& qd,
                                               const ConstVector& qdd) const {
  VectorX at(3 * static_cast<Eigen::Index>(indices_.size()));
  at << q(indices_), qd(indices_), qdd(indices_);
  if (is_same(gradients_.at, at)) return gradients_.along;
  gradients_.at.resize(0);
  evaluate_gradients(q, qd, qdd, gradients_.along);
  gradients_.at = std::move(at);
  return gradients_.along;
}

Eigen::MatrixXd CoordinateMap::weighted_hessian(const ConstVector& q,
                                                const Eigen::Matrix<double, 6, 1>& weights) const {
  const auto n = static_cast<Eigen::Index>(indices_.size());
  auto& [at, by_row] = hessians_;
  if (const VectorX here = q(indices_); !is_same(at, here)) {
    at.resize(0);
    by_row.assign(6, Eigen::MatrixXd(n, n));
    const VectorX zero = VectorX::Zero(q.size());
    VectorX unit = zero;
    GradientsAlong along;
    for (Eigen::Index k = 0; k < n; ++k) {
      // The derivative of the gradients along the unit rate of coordinate k is column k of the second derivatives.
      const int i = indices_[static_cast<std::size_t>(k)];
      unit[i] = 1.0;
      evaluate_gradients(q, unit, zero, along);
      for (std::size_t r = 0; r < 6; ++r) by_row[r].col(k) = along.d.row(static_cast<Eigen::Index>(r)).transpose();
      unit[i] = 0.0;
    }
    at = here;
  }
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(n, n);
  for (std::size_t r = 0; r < 6; ++r) {
    const double weight = weights[static_cast<Eigen::Index>(r)];
    if (weight != 0.0) sum += weight * by_row[r];
  }
  return sum;
}

/// With u(w) from n equations E(w, u) = 0 a function N(w, u(w)) has the gradient N_w + mu E_w, mu = -N_u E_u^-1; all of
/// it along the path, on which u is known to second order from the derivatives of E along it.
void CoordinateMap::evaluate_gradients(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                                       GradientsAlong& out) const {
  const auto m = static_cast<Eigen::Index>(n());
  const Frames at = frames(q, qd, qdd);
  const VectorX u = solve(at);
  Values jets{};
  for (std::size_t i = 0; i < n(); ++i) jets[i].f = u[static_cast<Eigen::Index>(i)];
  Rows rows = rows_at(at, jets);
  Along<Square> E_u{Square(m, m), Square(m, m), Square(m, m)};
  const auto fill = [&] {
    for (Eigen::Index r = 0; r < m; ++r) {
      for (Eigen::Index i = 0; i < m; ++i) {
        const Jet& x = rows[static_cast<std::size_t>(r)].by_u[static_cast<std::size_t>(i)];
        E_u.f(r, i) = x.f;
        E_u.d(r, i) = x.d;
        E_u.dd(r, i) = x.dd;
      }
    }
  };
  fill();
  const Square inverse = E_u.f.inverse();
  for (double Jet::*order : {&Jet::d, &Jet::dd}) {
    for (Eigen::Index i = 0; i < m; ++i) {
      double rate = 0.0;
      for (Eigen::Index r = 0; r < m; ++r) rate -= inverse(i, r) * (rows[static_cast<std::size_t>(r)].value.*order);
      jets[static_cast<std::size_t>(i)].*order = rate;
    }
    rows = rows_at(at, jets);
  }
  fill();
  const Square d = -inverse * E_u.d * inverse;
  const Along<Square> E_u_inverse{inverse, d, -inverse * E_u.dd * inverse - 2.0 * (inverse * E_u.d * d)};
  const auto columns = static_cast<Eigen::Index>(indices_.size());
  for (Eigen::MatrixXd* part : {&out.f, &out.d, &out.dd}) part->setZero(6, columns);
  for (std::size_t r = 0; r < 6; ++r) {
    // The residuals first, then the coordinates, whose N is u itself.
    const bool residual = r < 6 - n();
    const Row* N = residual ? &rows[n() + r] : nullptr;
    Along<Matrix3> G = N != nullptr ? N->G : Along<Matrix3>::constant(Matrix3::Zero());
    Along<Vector3> h = Along<Vector3>::constant(N != nullptr ? N->h : Vector3(Vector3::Zero()));
    for (Eigen::Index e = 0; e < m; ++e) {
      Jet mu;
      for (Eigen::Index i = 0; i < m; ++i) {
        const Jet by_u = N != nullptr ? N->by_u[static_cast<std::size_t>(i)]
                                      : Jet{.f = static_cast<std::size_t>(i) == r - (6 - n()) ? 1.0 : 0.0};
        mu = mu - by_u * Jet{.f = E_u_inverse.f(i, e), .d = E_u_inverse.d(i, e), .dd = E_u_inverse.dd(i, e)};
      }
      const Row& E = rows[static_cast<std::size_t>(e)];
      G = G + mu * E.G;
      h = h + mu * Along<Vector3>::constant(E.h);
    }
    add_gradient(at, G, h, static_cast<Eigen::Index>(r), out);
  }
}

/// Adds the gradient of <G, A'B> + h'A'r by the coordinates of both bodies.
void CoordinateMap::add_gradient(const Frames& at, const Along<Matrix3>& G, const Along<Vector3>& h, Eigen::Index row,
                                 GradientsAlong& out) const {
  const Along<Vector3> force = at.A * h;
  Eigen::Index first = 0;
  const auto add = [&](const Along<Matrix3>& by_axes, double sign, const Pose& X_BF) {
    const auto part = [&](const Matrix3& axes, const Vector3& f, Eigen::MatrixXd& target) {
      const Matrix3 V = axes * X_BF.R.transpose() + sign * f * X_BF.p.transpose();
      target.block<1, 3>(row, first) = sign * f.transpose();
      for (Eigen::Index k = 0; k < 3; ++k) target.block<1, 3>(row, first + 3 + 3 * k) = V.col(k).transpose();
    };
    part(by_axes.f, force.f, out.f);
    part(by_axes.d, force.d, out.d);
    part(by_axes.dd, force.dd, out.dd);
    first += coordinates_per_body;
  };
  if (a_.body != ground) add(at.B * transposed(G) + outer_along(at.r_W, h), -1.0, a_.X_BF);
  if (b_.body != ground) add(at.A * G, 1.0, b_.X_BF);
}

namespace {

/// Selected values of CoordinateMap::values() as motion functions.
class JointNumbers final : public MotionFunctions {
 public:
  JointNumbers(CoordinateMapPtr map, std::vector<Eigen::Index> rows) : map_(std::move(map)), rows_(std::move(rows)) {}
  [[nodiscard]] int size() const override { return static_cast<int>(rows_.size()); }
  [[nodiscard]] const std::vector<int>& indices() const override { return map_->indices(); }
  [[nodiscard]] VectorX values(const ConstVector& q) const override { return map_->values(q)(rows_); }
  void gradients(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                 GradientsAlong& out) const override {
    const GradientsAlong& all = map_->gradients(q, qd, qdd);
    out.f = all.f(rows_, Eigen::all);
    out.d = all.d(rows_, Eigen::all);
    out.dd = all.dd(rows_, Eigen::all);
  }
  [[nodiscard]] Eigen::MatrixXd weighted_hessian(const ConstVector& q, const ConstVector& weights) const override {
    Eigen::Matrix<double, 6, 1> all = Eigen::Matrix<double, 6, 1>::Zero();
    all(rows_) = weights;
    return map_->weighted_hessian(q, all);
  }
  [[nodiscard]] bool on_intended_branch(const ConstVector& q) const override { return map_->on_intended_branch(q); }

 private:
  CoordinateMapPtr map_;
  std::vector<Eigen::Index> rows_;
};

class CoupledCoordinates final : public MotionFunctions {
 public:
  CoupledCoordinates(double constant, std::vector<CoupledTerm> terms) : constant_(constant), terms_(std::move(terms)) {
    for (const auto& term : terms_) {
      indices_.insert(indices_.end(), term.map->indices().begin(), term.map->indices().end());
    }
    std::ranges::sort(indices_);
    indices_.erase(std::unique(indices_.begin(), indices_.end()), indices_.end());
  }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] const std::vector<int>& indices() const override { return indices_; }
  [[nodiscard]] VectorX values(const ConstVector& q) const override {
    double value = constant_;
    for (const auto& term : terms_) value += term.f->at(term.map->values(q)[row_of(term)]).f;
    return VectorX::Constant(1, value);
  }
  void gradients(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                 GradientsAlong& out) const override {
    for (Eigen::MatrixXd* part : {&out.f, &out.d, &out.dd}) {
      part->setZero(1, static_cast<Eigen::Index>(indices_.size()));
    }
    for (const auto& term : terms_) add(term, q, qd, qdd, out);
  }

 private:
  [[nodiscard]] static Eigen::Index row_of(const CoupledTerm& term) {
    return term.map->rows() + static_cast<Eigen::Index>(term.coordinate);
  }
  /// f'(u) u_q along the path, on which u has the rates u_q qd and u_q qdd + qd' u_qq qd.
  void add(const CoupledTerm& term, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
           GradientsAlong& out) const {
    const GradientsAlong& by = term.map->gradients(q, qd, qdd);
    const Eigen::Index row = row_of(term);
    Jet u{.f = term.map->values(q)[row]};
    const auto& own = term.map->indices();
    for (std::size_t k = 0; k < own.size(); ++k) {
      const auto column = static_cast<Eigen::Index>(k);
      u.d += by.f(row, column) * qd[own[k]];
      u.dd += by.f(row, column) * qdd[own[k]] + by.d(row, column) * qd[own[k]];
    }
    const FunctionValue f = term.f->at(u.f);
    const Jet slope = chain(u, f.d1, f.d2, f.d3);
    for (std::size_t k = 0; k < own.size(); ++k) {
      const auto column = static_cast<Eigen::Index>(k);
      const Jet entry = slope * Jet{by.f(row, column), by.d(row, column), by.dd(row, column)};
      const auto place = static_cast<Eigen::Index>(std::ranges::lower_bound(indices_, own[k]) - indices_.begin());
      out.f(0, place) += entry.f;
      out.d(0, place) += entry.d;
      out.dd(0, place) += entry.dd;
    }
  }

  double constant_;
  std::vector<CoupledTerm> terms_;
  std::vector<int> indices_;
};

}  // namespace

MotionFunctionsPtr joint_residuals(CoordinateMapPtr map) {
  std::vector<Eigen::Index> rows;
  for (int r = 0; r < map->rows(); ++r) rows.push_back(r);
  return std::make_shared<JointNumbers>(std::move(map), std::move(rows));
}

MotionFunctionsPtr joint_coordinates(CoordinateMapPtr map, std::vector<std::size_t> coordinates) {
  std::vector<Eigen::Index> rows;
  for (const std::size_t i : coordinates) rows.push_back(map->rows() + static_cast<Eigen::Index>(i));
  return std::make_shared<JointNumbers>(std::move(map), std::move(rows));
}

MotionFunctionsPtr coupled_coordinates(double constant, std::vector<CoupledTerm> terms) {
  return std::make_shared<CoupledCoordinates>(constant, std::move(terms));
}

}  // namespace heelstrike::mbs
