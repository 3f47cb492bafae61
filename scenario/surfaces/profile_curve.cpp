#include "scenario/surfaces/profile_curve.hpp"

#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace heelstrike {

namespace {

/// Samples of a span between two points: the curvature of a cubic span changes sign at most twice, so that four parts
/// separate the local minima of the distance.
constexpr std::size_t samples_per_span = 4;
/// Newton's method converges quadratically, and the bisection safeguard reaches rounding within this number of steps.
constexpr int max_steps = 60;
/// Relative to the length: smaller steps of the parameter are rounding.
constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();

}  // namespace

ProfileCurve::ProfileCurve(std::vector<Vector2> points, bool closed) : closed_(closed), points_(std::move(points)) {
  if (closed_) points_.push_back(points_.front());
  knots_ = {0.0};
  for (std::size_t i = 1; i < points_.size(); ++i) {
    knots_.push_back(knots_.back() + (points_[i] - points_[i - 1]).norm());
  }
  // Continuous first derivatives at the knots, for the second derivatives M: h0 M0 + 2 (h0 + h1) M1 + h1 M2 =
  // 6 (slope1 - slope0). Natural: none at the ends; closed: the last knot is the first.
  const auto n = static_cast<Eigen::Index>(points_.size());
  Eigen::MatrixXd a = Eigen::MatrixXd::Identity(n, n);
  Eigen::MatrixX2d b = Eigen::MatrixX2d::Zero(n, 2);
  const auto row = [&](Eigen::Index i, Eigen::Index before, Eigen::Index left, Eigen::Index after) {
    const auto span = [&](Eigen::Index k) {
      return knots_[static_cast<std::size_t>(k) + 1] - knots_[static_cast<std::size_t>(k)];
    };
    const auto slope = [&](Eigen::Index k) {
      return Vector2((points_[static_cast<std::size_t>(k) + 1] - points_[static_cast<std::size_t>(k)]) / span(k));
    };
    a(i, i) = 2.0 * (span(left) + span(i));
    a(i, before) += span(left);
    a(i, after) += span(i);
    b.row(i) = 6.0 * (slope(i) - slope(left)).transpose();
  };
  for (Eigen::Index i = 1; i + 1 < n; ++i) row(i, i - 1, i - 1, i + 1);
  if (closed_) {
    row(0, n - 2, n - 2, 1);
    a(n - 1, 0) = -1.0;
  }
  const Eigen::MatrixX2d moments = a.partialPivLu().solve(b);
  for (Eigen::Index i = 0; i < n; ++i) moments_.emplace_back(moments.row(i).transpose());

  for (std::size_t i = 0; i + 1 < knots_.size(); ++i) {
    for (std::size_t k = 0; k < samples_per_span; ++k) {
      samples_.push_back(knots_[i] + static_cast<double>(k) / samples_per_span * (knots_[i + 1] - knots_[i]));
    }
  }
  if (!closed_) samples_.push_back(length());
  for (const double u : samples_) sampled_.push_back(at(u).p);
}

CurvePoint ProfileCurve::at(double u) const {
  double past = 0.0;  // beyond an end
  if (closed_) {
    u -= length() * std::floor(u / length());
  } else {
    past = u - std::clamp(u, 0.0, length());
    u -= past;
  }
  const auto next = std::upper_bound(knots_.begin() + 1, knots_.end() - 1, u);
  const auto i = static_cast<std::size_t>(next - knots_.begin()) - 1;
  const double h = knots_[i + 1] - knots_[i];
  const double s = (u - knots_[i]) / h;
  const double r = 1.0 - s;
  const Vector2& m0 = moments_[i];
  const Vector2& m1 = moments_[i + 1];
  CurvePoint c;
  c.p = r * points_[i] + s * points_[i + 1] + h * h / 6.0 * ((r * r * r - r) * m0 + (s * s * s - s) * m1);
  c.dp = (points_[i + 1] - points_[i]) / h + h / 6.0 * ((1.0 - 3.0 * r * r) * m0 + (3.0 * s * s - 1.0) * m1);
  c.ddp = past == 0.0 ? Vector2(r * m0 + s * m1) : Vector2(Vector2::Zero());
  c.p += past * c.dp;
  const double speed = c.dp.norm();
  c.tangent = c.dp / speed;
  c.normal = {c.tangent.y(), -c.tangent.x()};
  c.curvature = -c.ddp.dot(c.normal) / (speed * speed);
  return c;
}

double ProfileCurve::refined(const Vector2& q, double low, double start, double high) const {
  // Half the derivative of the squared distance changes sign from - to + at a local minimum: Newton's method
  // safeguarded by bisection.
  double u = start;
  for (int step = 0; step < max_steps; ++step) {
    const CurvePoint c = at(u);
    const Vector2 d = c.p - q;
    const double f = c.dp.dot(d);
    (f > 0.0 ? high : low) = u;
    const double slope = c.dp.squaredNorm() + c.ddp.dot(d);
    double next = u - f / slope;
    if (!(slope > 0.0) || next < low || next > high) next = 0.5 * (low + high);
    if (next == u || std::abs(next - u) <= rounding * length()) return next;
    u = next;
  }
  return u;
}

double ProfileCurve::closest(const Vector2& q) const {
  const std::size_t n = sampled_.size();
  const auto distance = [&](std::size_t i) { return (sampled_[i] - q).squaredNorm(); };
  double best = 0.0;
  double best_distance = INFINITY;
  const auto offer = [&](double u) {
    const double d = (at(u).p - q).squaredNorm();
    if (d < best_distance) std::tie(best, best_distance) = std::pair(u, d);
  };
  if (!closed_) {
    // Closest points on the straight ends.
    const CurvePoint first = at(0.0);
    const CurvePoint last = at(length());
    offer(std::min(0.0, first.dp.dot(q - first.p) / first.dp.squaredNorm()));
    offer(length() + std::max(0.0, last.dp.dot(q - last.p) / last.dp.squaredNorm()));
  }
  double before = closed_ ? distance(n - 1) : INFINITY;
  double here = distance(0);
  const double first_distance = here;
  for (std::size_t i = 0; i < n; ++i) {
    const bool last = i + 1 == n;
    const double after = last ? (closed_ ? first_distance : INFINITY) : distance(i + 1);
    if (here <= before && here <= after) {
      const double low = i > 0 ? samples_[i - 1] : closed_ ? samples_[n - 1] - length() : 0.0;
      const double high = !last ? samples_[i + 1] : length();
      offer(refined(q, low, samples_[i], high));
    }
    before = here;
    here = after;
  }
  return best;
}

double ProfileCurve::gap(const Vector2& q) const {
  const CurvePoint c = at(closest(q));
  return c.normal.dot(q - c.p);
}

}  // namespace heelstrike
