#include "mbs_server/formulation/line_path.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

LinePath::LinePath(const std::vector<PathPoint>& points) {
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const PathPoint& a = points[i];
    const PathPoint& b = points[i + 1];
    const AffineVector p_A = body_point(a.body, a.p_BP);
    const AffineVector p_B = body_point(b.body, b.p_BP);
    Segment segment{.between = local(p_B - p_A), .surface = {}};
    if (a.wrap) {
      const AffineVector center = body_point(a.wrap->body, a.wrap->X_BS.p);
      Surface surface{.axes = {}, .from = local(p_A - center), .to = local(p_B - center), .shape = a.wrap->shape};
      for (int k = 0; k < 3; ++k) surface.axes[k] = local(body_direction(a.wrap->body, a.wrap->X_BS.R.col(k)));
      segment.surface = std::move(surface);
    }
    segments_.push_back(std::move(segment));
  }
}

LinePath::Local LinePath::local(AffineVector vector) {
  Local known{.vector = std::move(vector), .terms = {}};
  for (const auto& term : known.vector.terms) {
    auto at = std::ranges::find(coordinates_, term.first);
    if (at == coordinates_.end()) {
      const auto n = static_cast<std::ptrdiff_t>(coordinates_.size());
      coordinates_.insert(coordinates_.end(), {term.first, term.first + 1, term.first + 2});
      at = coordinates_.begin() + n;
    }
    known.terms.push_back({.first = term.first, .local = at - coordinates_.begin(), .coef = term.coef});
  }
  return known;
}

void LinePath::at(const ConstVector& q, bool curvature, PathLength& out) const {
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  out.length = 0.0;
  out.gradient.setZero(n);
  if (curvature) out.hessian.setZero(n, n);
  for (const Segment& segment : segments_) {
    if (segment.surface && add_wrapped(*segment.surface, q, curvature, out)) continue;
    add_straight(segment, q, curvature, out);
  }
}

void LinePath::add_straight(const Segment& segment, const ConstVector& q, bool curvature, PathLength& out) const {
  const Vector3 p = segment.between.vector.value(q);
  const double length = p.norm();
  // A shorter step may avoid coincident points; the condition also rejects NaN.
  if (!(length > 0.0)) throw RecoverableError("two of its points coincide, so that its direction is undefined");
  const Vector3 u = p / length;
  out.length += length;
  for (const auto& term : segment.between.terms) out.gradient.segment<3>(term.local) += term.coef * u;
  if (!curvature) return;
  const Matrix3 across = (Matrix3::Identity() - u * u.transpose()) / length;
  for (const auto& row : segment.between.terms) {
    for (const auto& column : segment.between.terms) {
      out.hessian.block<3, 3>(row.local, column.local) += row.coef * column.coef * across;
    }
  }
}

/// In the frame of the shape an end is y_k = a_k . p with the axes a_k and p from the centre: a product of two vectors
/// that are affine in q, with constant second derivatives.
bool LinePath::add_wrapped(const Surface& surface, const ConstVector& q, bool curvature, PathLength& out) const {
  const std::array<const Local*, 2> ends = {&surface.from, &surface.to};
  std::array<Vector3, 3> a;
  std::array<Vector3, 2> p, y;
  for (std::size_t k = 0; k < 3; ++k) a[k] = surface.axes[k].vector.value(q);
  for (std::size_t e = 0; e < 2; ++e) {
    p[e] = ends[e]->vector.value(q);
    y[e] = {a[0].dot(p[e]), a[1].dot(p[e]), a[2].dot(p[e])};
  }
  const WrappedLine line = wrap(surface.shape, y[0], y[1]);
  if (!line.touches) return false;
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  Eigen::MatrixXd& by_q = out.by_ends;
  by_q.setZero(6, n);
  for (Eigen::Index e = 0; e < 2; ++e) {
    for (Eigen::Index k = 0; k < 3; ++k) {
      const auto ei = static_cast<std::size_t>(e);
      const auto ki = static_cast<std::size_t>(k);
      for (const auto& term : surface.axes[ki].terms)
        by_q.block<1, 3>(3 * e + k, term.local) += term.coef * p[ei].transpose();
      for (const auto& term : ends[ei]->terms) by_q.block<1, 3>(3 * e + k, term.local) += term.coef * a[ki].transpose();
    }
  }
  out.length += line.length;
  out.gradient += by_q.transpose() * line.gradient;
  if (!curvature) return true;
  out.hessian += by_q.transpose() * line.hessian * by_q;
  for (std::size_t e = 0; e < 2; ++e) {
    for (std::size_t k = 0; k < 3; ++k) {
      const double slope = line.gradient[static_cast<Eigen::Index>(3 * e + k)];
      for (const auto& axis : surface.axes[k].terms) {
        for (const auto& end : ends[e]->terms) {
          const double value = slope * axis.coef * end.coef;
          out.hessian.block<3, 3>(axis.local, end.local).diagonal().array() += value;
          out.hessian.block<3, 3>(end.local, axis.local).diagonal().array() += value;
        }
      }
    }
  }
  return true;
}

}  // namespace heelstrike::mbs
