#include "mbs_server/formulation/line_path.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"

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
    // A line that does not touch its surface is straight; the choice is continuous, because it touches tangentially.
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
  // Only motion across the line changes its direction; its length is convex in both ends.
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
  // Chain rule; the second derivatives of y_k = a_k . p couple the terms of the axis with those of the end.
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

namespace {

/// Tolerance of the ranges of conditional points, as in OpenSim [rad or m].
constexpr double range_tolerance = 1e-5;

double value_of(const JointFunction& u, const ConstVector& q) {
  return u.map->values(q)[u.map->rows() + static_cast<Eigen::Index>(u.coordinate)];
}

}  // namespace

MovingPath::MovingPath(std::vector<MovingPoint> points, std::vector<PathWrap> surfaces)
    : points_(std::move(points)), surfaces_(std::move(surfaces)) {
  bool plain = true;
  std::vector<int> found;
  const auto add_body = [&](BodyIndex body) {
    for (int k = 0; body != ground && k < coordinates_per_body; ++k) found.push_back(coordinates_per_body * body + k);
  };
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const MovingPoint& point = points_[i];
    add_body(point.point.body);
    for (const std::size_t s : point.wraps) add_body(surfaces_[s].body);
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
  first_free_ = found.empty() ? 0 : coordinates_per_body * (found.back() / coordinates_per_body + 1);
  coordinates_ = std::move(found);
  const std::vector<bool> all(points_.size(), true);
  const ActivePoints active = active_points(all);
  // Without moving or conditional points the path is that of the points themselves, without a detour over copies.
  if (!plain || active.has_choice) return;
  plain_.emplace(fixed(all, active, only_sequence(active)).path);
  coordinates_ = plain_->coordinates();
  paths_.clear();
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

MovingPath::ActivePoints MovingPath::active_points(const std::vector<bool>& counts) const {
  ActivePoints active;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (counts[i]) active.points.push_back(i);
  }
  std::vector<int> surfaces_on(active.points.size(), 0);
  for (std::size_t s = 0; s < surfaces_.size(); ++s) {
    PlacedSurface placed{
        .shape = &surfaces_[s].shape, .X_WS = {}, .one_segment = surfaces_[s].one_segment, .segments = {}};
    for (std::size_t k = 0; k + 1 < active.points.size(); ++k) {
      // Across inactive points a segment wraps over the surfaces that all its parts may wrap over.
      const auto may_wrap = [&](std::size_t i) {
        return std::ranges::find(points_[i].wraps, s) != points_[i].wraps.end();
      };
      const auto parts = std::views::iota(active.points[k], active.points[k + 1]);
      if (!std::ranges::all_of(parts, may_wrap)) continue;
      placed.segments.push_back(k);
      active.has_choice = active.has_choice || ++surfaces_on[k] > 1;
    }
    if (placed.segments.empty()) continue;
    active.has_choice = active.has_choice || (placed.one_segment && placed.segments.size() > 1);
    active.surfaces.push_back(s);
    active.placed.push_back(std::move(placed));
  }
  return active;
}

MovingPath::Sequence MovingPath::only_sequence(const ActivePoints& active) {
  Sequence sequence(active.points.size() - 1);
  for (std::size_t k = 0; k < active.placed.size(); ++k) {
    for (const std::size_t segment : active.placed[k].segments) sequence[segment].push_back(active.surfaces[k]);
  }
  return sequence;
}

/// The body of a free point, after those of the model.
BodyIndex MovingPath::free_body(std::size_t number) const {
  return static_cast<BodyIndex>(first_free_ / coordinates_per_body + static_cast<int>(number));
}

/// A point as it enters LinePath: a moving one is the origin of a body of its own.
PathPoint MovingPath::fixed_point(std::size_t i) const {
  PathPoint point = points_[i].point;
  const auto moving = std::ranges::find(moving_, i);
  if (moving == moving_.end()) return point;
  point.body = free_body(static_cast<std::size_t>(moving - moving_.begin()));
  point.p_BP.setZero();
  return point;
}

MovingPath::Sequence MovingPath::choose(const ActivePoints& active, const VectorX& q,
                                        std::vector<Junction>& junctions) const {
  if (!active.has_choice) return only_sequence(active);
  std::vector<Vector3> points;
  for (const std::size_t i : active.points) {
    const PathPoint point = fixed_point(i);
    points.push_back(body_point(point.body, point.p_BP).value(q));
  }
  std::vector<PlacedSurface> placed = active.placed;
  for (std::size_t k = 0; k < placed.size(); ++k) {
    const PathWrap& surface = surfaces_[active.surfaces[k]];
    placed[k].X_WS.p = body_point(surface.body, surface.X_BS.p).value(q);
    for (int c = 0; c < 3; ++c) {
      placed[k].X_WS.R.col(c) = body_direction(surface.body, surface.X_BS.R.col(c)).value(q);
    }
  }
  Sequence sequence;
  for (const auto& contacts : wrap_sequence(points, placed)) {
    auto& surfaces = sequence.emplace_back();
    for (std::size_t k = 0; k < contacts.size(); ++k) {
      surfaces.push_back(active.surfaces[contacts[k].surface]);
      if (k == 0) continue;
      const Vector3 &from = contacts[k - 1].last, &to = contacts[k].first;
      junctions.push_back({.p = 0.5 * (from + to), .along = to - from});
    }
  }
  return sequence;
}

const MovingPath::Fixed& MovingPath::fixed(const std::vector<bool>& counts, const ActivePoints& active,
                                           const Sequence& sequence) const {
  // Active points and surfaces change rarely; their paths are kept.
  const auto known = paths_.find({counts, sequence});
  if (known != paths_.end()) return known->second;
  std::vector<PathPoint> points;
  std::size_t free = moving_.size();
  for (std::size_t k = 0; k < active.points.size(); ++k) {
    points.push_back(fixed_point(active.points[k]));
    if (k + 1 == active.points.size() || sequence[k].empty()) continue;
    points.back().wrap = surfaces_[sequence[k].front()];
    for (std::size_t j = 1; j < sequence[k].size(); ++j) {
      points.push_back({.body = free_body(free++), .wrap = surfaces_[sequence[k][j]]});
    }
  }
  Fixed made{.path = LinePath(points), .places = {}};
  for (const int coordinate : made.path.coordinates()) made.places.push_back(place(coordinate));
  return paths_.emplace(std::pair(counts, sequence), std::move(made)).first->second;
}

MovingPath::Spread MovingPath::spread(const Fixed& fixed, const VectorX& q, bool curvature, Eigen::Index n) const {
  fixed.path.at(q, curvature, inner_);
  Spread all{.gradient = VectorX::Zero(n), .hessian = Eigen::MatrixXd::Zero(curvature ? n : 0, curvature ? n : 0)};
  all.gradient(fixed.places) = inner_.gradient;
  if (curvature) all.hessian(fixed.places, fixed.places) = inner_.hessian;
  return all;
}

/// Positions of the junctions at which the length is a minimum: both sides then have the same direction. A motion along
/// the line changes nothing, so that they move across it only. Afterwards they are eliminated.
///
/// The length over a surface is not convex: across the plane of a bent line it has a negative curvature, and where two
/// lines around a surface are equally long, a jump of direction. Newton's method reduces the residual where the length
/// is convex; elsewhere it descends along the negative curvature to a line that does not slip off under tension.
/// @param n  number of coordinates before theirs, the last ones of q
MovingPath::Spread MovingPath::at_junctions(const Fixed& fixed, const std::vector<Junction>& junctions, VectorX& q,
                                            Eigen::Index n) const {
  const auto count = static_cast<Eigen::Index>(junctions.size());
  const Eigen::Index first = q.size() - coordinates_per_body * count;
  Eigen::MatrixXd across = Eigen::MatrixXd::Zero(3 * count, 2 * count);
  double reach = 0.0;
  for (Eigen::Index j = 0; j < count; ++j) {
    const Junction& junction = junctions[static_cast<std::size_t>(j)];
    q.segment<3>(first + coordinates_per_body * j) = junction.p;
    reach = std::max(reach, 0.5 * junction.along.norm());
    across.block<3, 2>(3 * j, 2 * j) =
        junction.along.householderQr().householderQ() * Eigen::Matrix<double, 3, 2>{{0.0, 0.0}, {1.0, 0.0}, {0.0, 1.0}};
  }
  // Directions are of order one; the geodesics are smooth to rounding over their steps.
  constexpr double tolerance = 1e-12;
  constexpr int max_iterations = 100;
  const auto gradient_of = [&](const Spread& s) -> VectorX { return across.transpose() * s.gradient.tail(3 * count); };
  const auto stiffness_of = [&](const Spread& s) -> Eigen::MatrixXd {
    return across.transpose() * s.hessian.bottomRightCorner(3 * count, 3 * count) * across;
  };
  Spread now = spread(fixed, q, true, n + 3 * count);
  VectorX residual = gradient_of(now);
  for (int iteration = 0; residual.norm() > tolerance; ++iteration) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> modes(stiffness_of(now));
    const bool convex = modes.eigenvalues().minCoeff() > 0.0;
    VectorX step =
        -across * (modes.eigenvectors() *
                   (modes.eigenvectors().transpose() * residual).cwiseQuotient(modes.eigenvalues().cwiseAbs()));
    step *= std::min(1.0, reach / step.norm());
    const double slope = (across.transpose() * step).dot(residual);
    const VectorX start = q;
    const double before = residual.norm(), length = inner_.length;
    const auto accepts = [&](double fraction) {
      for (Eigen::Index j = 0; j < count; ++j) {
        q.segment<3>(first + coordinates_per_body * j) =
            start.segment<3>(first + coordinates_per_body * j) + fraction * step.segment<3>(3 * j);
      }
      try {
        now = spread(fixed, q, true, n + 3 * count);
      } catch (const RecoverableError&) {
        return false;  // No line over one of the surfaces was found from there.
      }
      residual = gradient_of(now);
      // Armijo's condition of descent; a decrease of the residual alone could lead to a maximum.
      return (convex && residual.norm() < before) || inner_.length < length + 0.1 * fraction * slope;
    };
    double fraction = 1.0;
    while (!accepts(fraction)) {
      fraction *= 0.5;
      if (fraction < 1e-6 || iteration == max_iterations) {
        throw RecoverableError("no line over its wrap surfaces was found");
      }
    }
  }
  // The solver of Eigen does not accept a right-hand side without columns.
  if (n == 0) return {.gradient = now.gradient.head(0), .hessian = Eigen::MatrixXd(0, 0)};
  const Eigen::MatrixXd mixed = now.hessian.topRightCorner(n, 3 * count) * across;
  return {.gradient = now.gradient.head(n),
          .hessian = now.hessian.topLeftCorner(n, n) - mixed * stiffness_of(now).fullPivLu().solve(mixed.transpose())};
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
      std::vector<Eigen::Index> places;
      for (const int index : u->indices()) places.push_back(place(index));
      u_q(places) = along.f.row(0).transpose();
      by_q += f.d1 * V.col(k) * u_q.transpose();
      if (curvature) {
        hessian += pull.dot(V.col(k)) * f.d2 * u_q * u_q.transpose();
        hessian(places, places) += u->weighted_hessian(q, VectorX::Constant(1, pull.dot(V.col(k)) * f.d1));
        if (body != ground) {
          const Eigen::MatrixXd rotated = f.d1 * pull * u_q.transpose();
          hessian.middleRows<3>(axis) += rotated;
          hessian.middleCols<3>(axis) += rotated.transpose();
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
  const auto known = active_.find(counts);
  const ActivePoints& active =
      known != active_.end() ? known->second : active_.emplace(counts, active_points(counts)).first->second;
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
  std::vector<Junction> junctions;
  const Fixed& now = fixed(counts, active, choose(active, extended, junctions));
  const Eigen::Index added = coordinates_per_body * static_cast<Eigen::Index>(junctions.size());
  extended.conservativeResizeLike(VectorX::Zero(extended.size() + added));
  const Spread all = junctions.empty() ? spread(now, extended, curvature, n + 3 * m)
                                       : at_junctions(now, junctions, extended, n + 3 * m);
  out.length = inner_.length;
  if (m == 0) {
    out.gradient = all.gradient;
    if (curvature) out.hessian = all.hessian;
    return;
  }
  // Derivatives of all coordinates by those of bodies and joints: the identity, then the rows of moving points.
  Eigen::MatrixXd by_q = Eigen::MatrixXd::Zero(n + 3 * m, n);
  by_q.topRows(n).setIdentity();
  Eigen::MatrixXd bent = Eigen::MatrixXd::Zero(curvature ? n : 0, curvature ? n : 0);
  for (Eigen::Index j = 0; j < m; ++j) {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(3, n);
    follow(points_[moving_[static_cast<std::size_t>(j)]], n + 3 * j, q, curvature, all.gradient, rows, bent);
    by_q.middleRows<3>(n + 3 * j) = rows;
  }
  out.gradient = by_q.transpose() * all.gradient;
  if (curvature) out.hessian = by_q.transpose() * all.hessian * by_q + bent;
}

}  // namespace heelstrike::mbs
