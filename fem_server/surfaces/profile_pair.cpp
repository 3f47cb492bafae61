#include "fem_server/surfaces/profile_pair.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Geometry>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

/// [rad] Lengths of a profile projected to the plane of the other shrink by half the squared tilt, here 5e-5, which is
/// below the accuracy of profiles.
constexpr double max_tilt = 0.01;
/// Newton's method safeguarded by bisection: 60 halvings reduce the interval to rounding.
constexpr int halvings = 60;

[[noreturn]] void refuse_pose(const PairState& state, const std::string& what) {
  throw RecoverableError(fmt::format("profiles at t = {} s: {}", state.t, what));
}

}  // namespace

ProfilePair::ProfilePair(const ProfileSurface& main, const ProfileSurface& partner)
    : A_(main.points, main.closed),
      B_(partner.points, partner.closed),
      axes_A_(main.axes()),
      axes_B_(partner.axes()),
      center_A_(main.center),
      center_B_(partner.center),
      reach_(0.5 * (main.width + partner.width)) {}

ProfilePair::FootPoints ProfilePair::contact_parameters_at(const Placed& B, double on_B) const {
  const Vector2 q = B.R * B_.at(on_B).p + B.p;
  FootPoints foot_points{.on_A = A_.closest(q), .on_B = on_B};
  const CurvePoint a = A_.at(foot_points.on_A);
  foot_points.gap = a.normal.dot(q - a.p);
  return foot_points;
}

/// d'(r) and d''(r): the normal of A rotates by the curvature of the level curve through the point.
double ProfilePair::rise(const Placed& B, const FootPoints& foot_points, double* slope) const {
  const CurvePoint a = A_.at(foot_points.on_A);
  const CurvePoint b = B_.at(foot_points.on_B);
  const Vector2 dp = B.R * b.dp;
  const double across = a.tangent.dot(dp);
  *slope = a.normal.dot(B.R * b.ddp) + a.curvature / (1.0 + a.curvature * foot_points.gap) * across * across;
  return a.normal.dot(dp);
}

ProfilePair::FootPoints ProfilePair::refined(const Placed& B, double low, double high) const {
  double slope = 0.0;
  FootPoints foot_points = contact_parameters_at(B, low);
  // Still decreasing outwards at an end of an open profile: the end is closest.
  if (rise(B, foot_points, &slope) >= 0.0) {
    foot_points.at_end = true;
    return foot_points;
  }
  foot_points = contact_parameters_at(B, high);
  if (rise(B, foot_points, &slope) <= 0.0) {
    foot_points.at_end = true;
    return foot_points;
  }
  double u = 0.5 * (low + high);
  for (int step = 0; step < halvings; ++step) {
    foot_points = contact_parameters_at(B, u);
    const double f = rise(B, foot_points, &slope);
    (f > 0.0 ? high : low) = u;
    double next = u - f / slope;
    if (!(slope > 0.0) || next < low || next > high) next = 0.5 * (low + high);
    if (std::abs(next - u) <= 4.0 * std::numeric_limits<double>::epsilon() * B_.length()) break;
    u = next;
  }
  return foot_points;
}

ProfilePair::FootPoints ProfilePair::search(const Placed& B) const {
  const std::vector<double>& samples = B_.samples();
  const std::size_t n = samples.size();
  std::vector<double> gaps;
  gaps.reserve(n);
  for (const Vector2& p : B_.sampled()) gaps.push_back(A_.gap(B.R * p + B.p));
  FootPoints best{.gap = INFINITY};
  for (std::size_t i = 0; i < n; ++i) {
    const bool first = i == 0;
    const bool last = i + 1 == n;
    const double before = !first ? gaps[i - 1] : B_.closed() ? gaps[n - 1] : INFINITY;
    const double after = !last ? gaps[i + 1] : B_.closed() ? gaps[0] : INFINITY;
    if (gaps[i] > before || gaps[i] > after) continue;
    const double low = !first ? samples[i - 1] : B_.closed() ? samples[n - 1] - B_.length() : samples[0];
    const double high = !last ? samples[i + 1] : B_.length();
    const FootPoints foot_points = refined(B, low, high);
    if (foot_points.gap < best.gap) best = foot_points;
  }
  return best;
}

void ProfilePair::locate(const PairState& state, PointGeometry& g) const {
  const Pose& X = state.X_AB;
  const Matrix3 turn = axes_A_.transpose() * X.R * axes_B_;
  const double tilt = std::atan2(turn.col(2).head<2>().norm(), turn(2, 2));
  if (!(tilt <= max_tilt)) {
    refuse_pose(
        state,
        fmt::format(
            "their planes are tilted by {:.3g} rad, expected at most {} rad; constrain the bodies to a plane with "
            "joints, and orient both profiles alike (key `plane`)",
            tilt, max_tilt));
  }
  const Vector3 origin = axes_A_.transpose() * (X * center_B_ - center_A_);
  if (!(std::abs(origin.z()) <= reach_)) {
    refuse_pose(state, fmt::format("{:.6g} m lateral offset, expected at most {:.6g} m, half the sum of both widths",
                                   std::abs(origin.z()), reach_));
  }
  const double angle = std::atan2(turn(1, 0) - turn(0, 1), turn(0, 0) + turn(1, 1));
  const Placed B{.R = Eigen::Rotation2Dd(angle).toRotationMatrix(), .p = origin.head<2>()};
  const FootPoints foot_points = search(B);
  const CurvePoint a = A_.at(foot_points.on_A);
  const CurvePoint b = B_.at(foot_points.on_B);
  g.gap = foot_points.gap;
  if (g.gap <= 0.0 && (foot_points.at_end || A_.beyond(foot_points.on_A))) {
    refuse_pose(state,
                fmt::format("contact {:.3g} m deep has left the end of an open profile; add points there", -g.gap));
  }
  const double stretch = 1.0 + a.curvature * g.gap;
  // 1 / R of the equivalent sphere on a plane, for the parallel curves in grazing contact; positive at every local
  // minimum of the gap, also for a profile inside one that is not wider.
  const double sum = a.curvature + b.curvature + a.curvature * b.curvature * g.gap;
  if (g.gap <= 0.0 &&
      !(stretch > 0.0 && 1.0 + b.curvature * g.gap > 0.0 && sum > 0.0 && a.normal.dot(B.R * b.normal) < 0.0)) {
    refuse_pose(
        state, fmt::format(
                   "{:.3g} m deep, down to a centre of curvature or through the other profile; use a smaller step or a "
                   "stiffer contact",
                   -g.gap));
  }
  const Vector3 axis = axes_A_.col(2);
  const Vector3 tangent = axes_A_.leftCols<2>() * a.tangent;
  g.n_A = axes_A_.leftCols<2>() * a.normal;
  const Vector3 p_on_B = X * (center_B_ + axes_B_.leftCols<2>() * b.p);
  const Vector2 foot = a.p + 0.5 * g.gap * a.normal;
  g.p_AC = center_A_ + axes_A_.leftCols<2>() * foot + axis * axis.dot(p_on_B - center_A_);
  g.effective_radius = sum > 0.0 ? 1.0 / sum : INFINITY;

  // Derivatives of the two conditions, T.(B - A) = 0 and N_A + N_B = 0, by arc length on A, s: the contact moves by
  // (turn + curvature_B slip) / sum; at an end of B the first condition alone moves it.
  RowVector6 slip;  // of the point of B along the tangent
  slip << (p_on_B - X.p).cross(tangent).transpose(), tangent.transpose();
  RowVector6 turned = RowVector6::Zero();
  turned.head<3>() = axis.transpose();
  // If both are flat, all points are equally close and the contact point does not move.
  RowVector6 ds = RowVector6::Zero();
  if (foot_points.at_end) {
    ds = slip / stretch;
  } else if (sum > 0.0) {
    ds = (turned + b.curvature * slip) / sum;
  }
  RowVector6 dgap;
  dgap << (p_on_B - X.p).cross(g.n_A).transpose(), g.n_A.transpose();
  RowVector6 rises;
  rises << (p_on_B - X.p).cross(axis).transpose(), axis.transpose();
  g.dn_dX = a.curvature * tangent * ds;
  g.dp_dX = (1.0 + 0.5 * a.curvature * g.gap) * tangent * ds + 0.5 * g.n_A * dgap + axis * rises;
}

}  // namespace heelstrike::fem
