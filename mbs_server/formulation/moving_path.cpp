#include "mbs_server/formulation/moving_path.hpp"

#include <algorithm>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {
namespace {

/// Tolerance of the ranges of conditional points, as in OpenSim [rad or m].
constexpr double range_tolerance = 1e-5;

double value_of(const JointFunction& u, const ConstVector& q) {
  return u.map->values(q)[u.map->rows() + static_cast<Eigen::Index>(u.coordinate)];
}

}  // namespace

MovingPath::MovingPath(std::vector<MovingPoint> points) : points_(std::move(points)) {
  bool plain = true;
  std::vector<int> found;
  const auto add_body = [&](BodyIndex body) {
    for (int k = 0; body != ground && k < coordinates_per_body; ++k) found.push_back(coordinates_per_body * body + k);
  };
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const MovingPoint& point = points_[i];
    add_body(point.point.body);
    if (point.point.wrap) add_body(point.point.wrap->body);
    if (point.within.map) plain = false;
    if (!moves(point)) continue;
    plain = false;
    moving_.push_back(i);
    for (const JointFunction& u : point.moves) {
      if (u.map) found.insert(found.end(), u.map->indices().begin(), u.map->indices().end());
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  first_free_ = found.empty() ? 0 : found.back() + 1;
  coordinates_ = std::move(found);
  if (!plain) return;
  std::vector<PathPoint> fixed_points;
  for (const MovingPoint& point : points_) fixed_points.push_back(point.point);
  plain_.emplace(fixed_points);
  coordinates_ = plain_->coordinates();
}

bool MovingPath::moves(const MovingPoint& point) const {
  return std::ranges::any_of(point.moves, [](const JointFunction& u) { return u.map != nullptr; });
}

/// Coordinates of moving points follow all others.
Eigen::Index MovingPath::place(int coordinate) const {
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  if (coordinate < first_free_) return std::ranges::lower_bound(coordinates_, coordinate) - coordinates_.begin();
  const int free = coordinate - first_free_;
  return n + 3 * (free / coordinates_per_body) + free % coordinates_per_body;
}

const MovingPath::Fixed& MovingPath::fixed(const std::vector<bool>& counts) const {
  const auto known = paths_.find(counts);
  if (known != paths_.end()) return known->second;
  std::vector<PathPoint> points;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!counts[i]) continue;
    points.push_back(points_[i].point);
    const auto moving = std::ranges::find(moving_, i);
    if (moving == moving_.end()) continue;
    points.back().body = first_free_ / coordinates_per_body + static_cast<BodyIndex>(moving - moving_.begin());
    points.back().p_BP.setZero();
  }
  Fixed made{.path = LinePath(points), .places = {}};
  for (const int coordinate : made.path.coordinates()) made.places.push_back(place(coordinate));
  return paths_.emplace(counts, std::move(made)).first->second;
}

/// Derivatives of the three coordinates of a moving point by rows, and the contribution of its second derivatives.
void MovingPath::follow(const MovingPoint& point, Eigen::Index column, const ConstVector& q, bool curvature,
                        const VectorX& gradient, Eigen::MatrixXd& by_q, Eigen::MatrixXd& hessian) const {
  const BodyIndex body = point.point.body;
  const Eigen::Index first = coordinates_per_body * static_cast<Eigen::Index>(body);
  const Matrix3 V =
      body == ground ? Matrix3(Matrix3::Identity()) : Matrix3(Eigen::Map<const Matrix3>(q.data() + first + 3));
  const Vector3 pull = gradient.segment<3>(column);
  const VectorX zero = VectorX::Zero(q.size());
  if (body != ground) by_q.block<3, 3>(0, place(static_cast<int>(first))).setIdentity();
  for (Eigen::Index k = 0; k < 3; ++k) {
    const JointFunction& move = point.moves[static_cast<std::size_t>(k)];
    double p = point.point.p_BP[k];
    const Eigen::Index axis = body == ground ? 0 : place(static_cast<int>(first + 3 + 3 * k));
    if (move.map) {
      const MotionFunctionsPtr u = joint_coordinates(move.map, {move.coordinate});
      GradientsAlong along;
      u->gradients(q, zero, zero, along);
      const FunctionValue f = move.f->at(value_of(move, q));
      p += f.f;
      VectorX u_q = VectorX::Zero(by_q.cols());
      const auto& indices = u->indices();
      for (std::size_t i = 0; i < indices.size(); ++i)
        u_q[place(indices[i])] = along.f(0, static_cast<Eigen::Index>(i));
      by_q += f.d1 * V.col(k) * u_q.transpose();
      if (curvature) {
        hessian += pull.dot(V.col(k)) * f.d2 * u_q * u_q.transpose();
        const Eigen::MatrixXd u_qq = weighted_hessian(*u, q, VectorX::Constant(1, pull.dot(V.col(k)) * f.d1));
        for (std::size_t i = 0; i < indices.size(); ++i) {
          for (std::size_t j = 0; j < indices.size(); ++j) {
            hessian(place(indices[i]), place(indices[j])) +=
                u_qq(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
          }
        }
        if (body != ground) {
          const Eigen::MatrixXd turned = f.d1 * pull * u_q.transpose();
          hessian.middleRows<3>(axis) += turned;
          hessian.middleCols<3>(axis) += turned.transpose();
        }
      }
    }
    if (body != ground) by_q.block<3, 3>(0, axis).diagonal().array() += p;
  }
}

void MovingPath::at(const ConstVector& q, bool curvature, PathLength& out) const {
  if (plain_) return plain_->at(q, curvature, out);
  std::vector<bool> counts(points_.size(), true);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const MovingPoint& point = points_[i];
    if (!point.within.map) continue;
    const double u = value_of(point.within, q);
    counts[i] = u >= point.range[0] - range_tolerance && u <= point.range[1] + range_tolerance;
  }
  const Fixed& now = fixed(counts);
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  const auto m = static_cast<Eigen::Index>(moving_.size());
  VectorX extended = VectorX::Zero(first_free_ + coordinates_per_body * m);
  extended.head(first_free_) = q.head(first_free_);
  for (Eigen::Index j = 0; j < m; ++j) {
    const MovingPoint& point = points_[moving_[static_cast<std::size_t>(j)]];
    Vector3 p = point.point.p_BP;
    for (std::size_t k = 0; k < 3; ++k) {
      const JointFunction& move = point.moves[k];
      if (move.map) p[static_cast<Eigen::Index>(k)] += move.f->at(value_of(move, q)).f;
    }
    extended.segment<3>(first_free_ + coordinates_per_body * j) = body_point(point.point.body, p).value(q);
  }
  now.path.at(extended, curvature, inner_);
  VectorX gradient = VectorX::Zero(n + 3 * m);
  for (std::size_t i = 0; i < now.places.size(); ++i)
    gradient[now.places[i]] = inner_.gradient[static_cast<Eigen::Index>(i)];
  Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(curvature ? n + 3 * m : 0, curvature ? n + 3 * m : 0);
  for (std::size_t i = 0; curvature && i < now.places.size(); ++i) {
    for (std::size_t j = 0; j < now.places.size(); ++j) {
      hessian(now.places[i], now.places[j]) =
          inner_.hessian(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
    }
  }
  // Derivatives of all coordinates by those of bodies and joints: the identity, then the rows of moving points.
  Eigen::MatrixXd by_q = Eigen::MatrixXd::Zero(n + 3 * m, n);
  by_q.topRows(n).setIdentity();
  Eigen::MatrixXd bent = Eigen::MatrixXd::Zero(curvature ? n : 0, curvature ? n : 0);
  for (Eigen::Index j = 0; j < m; ++j) {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(3, n);
    follow(points_[moving_[static_cast<std::size_t>(j)]], n + 3 * j, q, curvature, gradient, rows, bent);
    by_q.middleRows<3>(n + 3 * j) = rows;
  }
  out.length = inner_.length;
  out.gradient = by_q.transpose() * gradient;
  if (curvature) out.hessian = by_q.transpose() * hessian * by_q + bent;
}

}  // namespace heelstrike::mbs
