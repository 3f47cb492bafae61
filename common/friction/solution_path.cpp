#include "common/friction/solution_path.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

namespace heelstrike::friction {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A contact changes between open and sliding and between sliding and sticking only: the friction of a sticking contact
/// reaches the cone before the normal reaction vanishes, and a contact that closes moves.
enum class ContactState { open, sliding, sticking };

/// Contacts of equal geometry would change their states simultaneously, and the path would branch. A start that differs
/// from contact to contact excludes this; the fractional parts of multiples of the golden ratio are evenly distributed.
double scattered(Index contact) {
  const double multiple = static_cast<double>(contact + 1) * std::numbers::phi;
  return 0.5 + (multiple - std::floor(multiple));
}
/// Friction at the start, relative to its limit: below it, where the contact sticks.
constexpr double start_margin = 1e-3;
/// Of residuals, relative to q and its change.
constexpr double path_accuracy = 1e-13;
/// Of the quantities that vanish where a state changes: above the accuracy of the points by the conditioning of W.
constexpr double event_accuracy = 1e-10;
/// Part of the step by which the point may differ from the tangent. Of 4000 random problems of six contacts, mu up to
/// 1000, 0.3 left 3 of every 1000 on another path, 0.1 left one in all.
constexpr double max_deviation = 0.1;
/// Steps shorter than this, relative to the length of q's path, are rounding.
constexpr double min_path_step = 1e-14;
/// Of the residual by a correction. The factors of the step's tangent are kept, as a residual costs n^2 operations and
/// a factorisation n^3; where they converge more slowly, the step is too long.
constexpr double max_contraction = 0.3;
constexpr int max_corrections = 30;
/// Of small problems, whose operations are negligible: a closed path has no end. The longest path seen to reach s = 1,
/// of 221 contacts, takes 4,133.
constexpr int max_factorisations = 20000;

/// Between two changes of state the solution is a smooth curve of
///
///     open: r = 0      sticking: u = 0      sliding: u_n = 0,  r_t = mu r_n v / |v|,  v = r_t - rho u_t
///
/// followed by steps along the tangent and Newton's method perpendicular to it. Where the states change, the tangent
/// has the orientation in which the determinant of the matrix with the tangent as last row keeps its sign: that of the
/// degree of the equations, as in Lemke's method. Lengths are |(r, |q - q_0| s)|, reactions scaled by the mean diagonal
/// of W.
template <int d>
class Path {
  using Tangential = Eigen::Matrix<double, d - 1, 1>;
  using TangentialBlock = Eigen::Matrix<double, d - 1, d - 1>;
  using Block = Eigen::Matrix<double, d, d>;

 public:
  Path(const LocalProblem& problem, const VectorXd& start)
      : n_(problem.n_contacts()),
        mu_(problem.mu),
        scale_(problem.W.diagonal().mean()),
        W_(MatrixXd(problem.W) / scale_),
        rho_(n_),
        state_(static_cast<std::size_t>(n_), ContactState::open) {
    at_.r = start * scale_;
    for (Index i = 0; i < n_; ++i) {
      auto r = at_.r.template segment<d>(d * i);
      rho_[i] = d / W_.block<d, d>(d * i, d * i).trace();
      if (!(r[0] > 0.0)) {
        r.setZero();
        continue;
      }
      const double bound = (1.0 - start_margin * scattered(i)) * mu_[i] * r[0];
      const double tangential = r.template tail<d - 1>().norm();
      if (tangential > bound) r.template tail<d - 1>() *= bound / tangential;
      state(i) = ContactState::sticking;
    }
    q_0_ = -(W_ * at_.r);
    const VectorXd u = problem.q - q_0_;
    double deepest = 0.0;
    for (Index i = 0; i < n_; ++i) deepest = std::max(deepest, -u[d * i]);
    // Open contacts start without tangential motion: with r = 0, any other solution would have r . (W r + q_0) > 0.
    for (Index i = 0; i < n_; ++i) {
      if (state(i) == ContactState::open) q_0_[d * i] += std::max(u[d * i], deepest * scattered(i));
    }
    dq_ = problem.q - q_0_;
    length_ = dq_.norm();
    size_ = length_ + problem.q.norm();
  }

  PathSolution follow(double max_operations) {
    PathSolution result;
    auto tangent = tangent_along(VectorXd::Unit(d * n_ + 1, d * n_), 0.0);
    double h = length_;
    while (tangent && operations_ < max_operations && factorisations_ < max_factorisations &&
           h > min_path_step * length_) {
      const auto event = advance(*tangent, h);
      if (!event) continue;
      if (event->kind == Change::reaches_end) {
        const auto end = correct({at_.r, 1.0}, unit_s(), nullptr);
        result.reached = end.has_value();
        if (end) at_ = *end;
        break;
      }
      apply(*event);
      const bool rose = tangent->direction[d * n_] > 0.0;
      tangent = tangent_along(tangent->direction, tangent->determinant);
      if (tangent && rose != (tangent->direction[d * n_] > 0.0)) ++result.limit_points;
    }
    result.r = at_.r / scale_;
    result.factorisations = factorisations_;
    return result;
  }

 private:
  struct Point {
    VectorXd r;
    double s = 0.0;
  };
  struct Tangent {
    VectorXd direction;                     ///< of {r, s length_}, unit length
    double determinant;                     ///< its sign
    Eigen::PartialPivLU<MatrixXd> factors;  ///< of the matrix at the start of the step, with any last row
  };
  enum class Change { none, reaches_end, closes, opens, slips, sticks };
  /// A function of the point that becomes negative where the state changes.
  struct Event {
    Change kind = Change::none;
    Index contact = 0;
    double fraction = 1.0;  ///< of the step, by linear interpolation
  };

  [[nodiscard]] ContactState& state(Index i) { return state_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] ContactState state(Index i) const { return state_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] VectorXd motion(const Point& p) const { return W_ * p.r + q_0_ + p.s * dq_; }
  [[nodiscard]] static Tangential tangential(const VectorXd& x, Index i) {
    return x.segment<d>(d * i).template tail<d - 1>();
  }
  [[nodiscard]] Tangential trial(Index i, const VectorXd& r, const VectorXd& u) const {
    return tangential(r, i) - rho_[i] * tangential(u, i);
  }

  [[nodiscard]] double value(const Event& event, const Point& p, const VectorXd& u) const {
    const Index i = event.contact;
    switch (event.kind) {
      case Change::none:
        break;
      case Change::reaches_end:
        return (1.0 - p.s) * length_;
      case Change::closes:
        return u[d * i];
      case Change::opens:
        return p.r[d * i];
      case Change::slips:
        return (mu_[i] * p.r[d * i] - tangential(p.r, i).norm()) / std::max(1.0, mu_[i]);
      case Change::sticks:
        return -trial(i, p.r, u).normalized().dot(tangential(u, i));
    }
    return 0.0;
  }
  [[nodiscard]] Event first_event(const Point& from, const VectorXd& u_from, const Point& to) const {
    const VectorXd u_to = motion(to);
    Event first;
    const auto check = [&](Change kind, Index contact) {
      Event event{.kind = kind, .contact = contact};
      const double after = value(event, to, u_to);
      if (after >= -event_accuracy * size_) return;
      const double before = std::max(value(event, from, u_from), 0.0);
      event.fraction = before / (before - after);
      if (first.kind == Change::none || event.fraction < first.fraction) first = event;
    };
    check(Change::reaches_end, 0);
    for (Index i = 0; i < n_; ++i) {
      switch (state(i)) {
        case ContactState::open:
          check(Change::closes, i);
          break;
        case ContactState::sticking:
          check(Change::slips, i);
          break;
        case ContactState::sliding:
          check(Change::opens, i);
          check(Change::sticks, i);
          break;
      }
    }
    return first;
  }
  void apply(const Event& event) {
    switch (event.kind) {
      case Change::none:
      case Change::reaches_end:
        break;
      case Change::opens:
        state(event.contact) = ContactState::open;
        at_.r.template segment<d>(d * event.contact).setZero();
        break;
      case Change::sticks:
        state(event.contact) = ContactState::sticking;
        break;
      case Change::closes:
      case Change::slips:
        state(event.contact) = ContactState::sliding;
        break;
    }
  }

  /// A step along the tangent of at most the length h, which is adapted, up to the first change of a state.
  /// @return none = the step failed, with a smaller h
  std::optional<Event> advance(const Tangent& tangent, double& h) {
    auto next = step(tangent, h);
    if (!next) {
      h *= 0.25;
      return std::nullopt;
    }
    const VectorXd u = motion(at_);
    Event event = first_event(at_, u, *next);
    double low = 0.0;
    double high = h;
    double length = event.fraction * h;
    // Regula falsi, bisection where it leaves the bracket. A bracket of rounding encloses a jump: of Newton's method to
    // another curve, which a smaller step avoids.
    while (event.kind != Change::none) {
      if (high - low <= min_path_step * length_) {
        h *= 0.25;
        return std::nullopt;
      }
      if (!(length > low && length < high)) length = 0.5 * (low + high);
      next = step(tangent, length);
      if (!next) {
        high = std::exchange(length, low);
        continue;
      }
      const Event earlier = first_event(at_, u, *next);
      if (earlier.kind != Change::none) {
        event = earlier;
        high = length;
        length *= earlier.fraction;
        continue;
      }
      const double rest = value(event, *next, motion(*next));
      if (rest <= event_accuracy * size_) break;
      const double first = value(event, at_, u);
      low = length;
      length *= first > rest ? first / (first - rest) : 0.0;
    }
    at_ = std::move(*next);
    if (event.kind == Change::none) h *= 2.0;
    return event;
  }

  [[nodiscard]] static double row_scale(double mu) { return 1.0 / std::max(1.0, mu); }

  /// Equations of the closed contacts; the last one is 0.
  [[nodiscard]] VectorXd residual(const Point& p) const {
    const VectorXd u = motion(p);
    const auto m = static_cast<Index>(closed_.size());
    VectorXd result = VectorXd::Zero(d * m + 1);
    for (Index a = 0; a < m; ++a) {
      const Index i = closed_[static_cast<std::size_t>(a)];
      result.segment<d>(d * a) = u.segment<d>(d * i);
      if (state(i) != ContactState::sliding) continue;
      result.segment<d>(d * a).template tail<d - 1>() =
          row_scale(mu_[i]) * (tangential(p.r, i) - mu_[i] * p.r[d * i] * trial(i, p.r, u).normalized());
    }
    return result;
  }
  /// Derivatives of the residual, with the last column that by length_ s. The last row is the caller's.
  [[nodiscard]] MatrixXd jacobian(const Point& p) const {
    const VectorXd u = motion(p);
    const auto m = static_cast<Index>(closed_.size());
    MatrixXd A(d * m + 1, d * m + 1);
    for (Index a = 0; a < m; ++a) {
      const Index i = closed_[static_cast<std::size_t>(a)];
      Block by_u = Block::Identity();
      Block by_r = Block::Zero();
      if (state(i) == ContactState::sliding) {
        const Tangential v = trial(i, p.r, u);
        const Tangential t = v.normalized();
        const double bound = mu_[i] * p.r[d * i];
        const TangentialBlock turn = bound / v.norm() * (TangentialBlock::Identity() - t * t.transpose());
        const double unit = row_scale(mu_[i]);
        by_u.template bottomRightCorner<d - 1, d - 1>() = unit * rho_[i] * turn;
        by_r.template bottomRightCorner<d - 1, d - 1>() = unit * (TangentialBlock::Identity() - turn);
        by_r.template bottomLeftCorner<d - 1, 1>() = -unit * mu_[i] * t;
      }
      for (Index b = 0; b < m; ++b) {
        A.template block<d, d>(d * a, d * b) =
            by_u * W_.template block<d, d>(d * i, d * closed_[static_cast<std::size_t>(b)]);
      }
      A.template block<d, d>(d * a, d * a) += by_r;
      A.template block<d, 1>(d * a, d * m) = by_u * dq_.segment<d>(d * i) / length_;
    }
    return A;
  }
  [[nodiscard]] Eigen::PartialPivLU<MatrixXd> factorise(MatrixXd A, const VectorXd& last_row) {
    A.row(A.rows() - 1) = last_row.transpose();
    const auto rows = static_cast<double>(A.rows());
    operations_ += 2.0 / 3.0 * rows * rows * rows;
    ++factorisations_;
    return Eigen::PartialPivLU<MatrixXd>(std::move(A));
  }
  /// {r, s length_} of the closed contacts.
  [[nodiscard]] VectorXd of_closed(const VectorXd& all) const {
    const auto m = static_cast<Index>(closed_.size());
    VectorXd x(d * m + 1);
    for (Index a = 0; a < m; ++a) x.segment<d>(d * a) = all.segment<d>(d * closed_[static_cast<std::size_t>(a)]);
    x[d * m] = all[d * n_];
    return x;
  }
  [[nodiscard]] VectorXd unit_s() const {
    const auto size = d * static_cast<Index>(closed_.size()) + 1;
    return VectorXd::Unit(size, size - 1);
  }

  /// @param orientation  sign of the determinant; 0 = that of increasing s
  [[nodiscard]] std::optional<Tangent> tangent_along(const VectorXd& before, double orientation) {
    closed_.clear();
    for (Index i = 0; i < n_; ++i) {
      if (state(i) != ContactState::open) closed_.push_back(i);
    }
    Eigen::PartialPivLU<MatrixXd> lu = factorise(jacobian(at_), of_closed(before));
    const Index last = lu.rows() - 1;
    const VectorXd x = lu.solve(VectorXd::Unit(last + 1, last)).normalized();
    if (!x.allFinite()) return std::nullopt;
    auto sign = static_cast<double>(lu.permutationP().determinant());
    for (Index i = 0; i <= last; ++i) sign *= lu.matrixLU()(i, i) < 0.0 ? -1.0 : 1.0;
    // The determinant with x as last row has the sign of that with `before`.
    const double turn = orientation != 0.0 && sign != orientation ? -1.0 : 1.0;
    Tangent tangent{.direction = VectorXd::Zero(d * n_ + 1), .determinant = turn * sign, .factors = std::move(lu)};
    for (std::size_t a = 0; a < closed_.size(); ++a) {
      tangent.direction.template segment<d>(d * closed_[a]) = turn * x.template segment<d>(d * static_cast<Index>(a));
    }
    tangent.direction[d * n_] = turn * x[last];
    return tangent;
  }

  /// The point at the distance h along the tangent.
  [[nodiscard]] std::optional<Point> step(const Tangent& tangent, double h) {
    const Point predicted{at_.r + h * tangent.direction.head(d * n_), at_.s + h * tangent.direction[d * n_] / length_};
    auto next = correct(predicted, of_closed(tangent.direction), &tangent.factors);
    if (!next) return std::nullopt;
    const double deviation = std::hypot((next->r - predicted.r).norm(), (next->s - predicted.s) * length_);
    if (deviation > max_deviation * h + 10.0 * path_accuracy * size_) return std::nullopt;
    return next;
  }
  /// Corrections perpendicular to `row`.
  /// @param factors  at the start of the step, `row` being the direction of their kernel; null = Newton's method
  [[nodiscard]] std::optional<Point> correct(Point p, const VectorXd& row,
                                             const Eigen::PartialPivLU<MatrixXd>* factors) {
    double before = std::numeric_limits<double>::infinity();
    for (int k = 0; k < max_corrections; ++k) {
      const VectorXd rest = residual(p);
      const double error = rest.norm();
      if (!std::isfinite(error)) return std::nullopt;
      if (error <= path_accuracy * size_) return p;
      if (k > 1 && error > max_contraction * before) {  // rounding, or no convergence
        if (error > 100.0 * path_accuracy * size_) return std::nullopt;
        return p;
      }
      before = error;
      VectorXd x = factors ? factors->solve(rest) : factorise(jacobian(p), row).solve(rest);
      if (factors) x -= row.dot(x) * row;
      for (std::size_t a = 0; a < closed_.size(); ++a) {
        p.r.template segment<d>(d * closed_[a]) -= x.template segment<d>(d * static_cast<Index>(a));
      }
      p.s -= x[x.size() - 1] / length_;
    }
    return std::nullopt;
  }

  Index n_;
  VectorXd mu_;
  double scale_;
  MatrixXd W_;
  VectorXd rho_;
  std::vector<ContactState> state_;
  std::vector<Index> closed_;  ///< contacts, ascending
  Point at_;
  VectorXd q_0_;
  VectorXd dq_;
  double length_ = 0.0;  ///< of dq_
  double size_ = 0.0;    ///< of residuals
  int factorisations_ = 0;
  double operations_ = 0.0;  ///< of the factorisations
};

}  // namespace

PathSolution follow_solution_path(const LocalProblem& problem, const VectorXd& start, double max_operations) {
  return problem.dimension == 2 ? Path<2>(problem, start).follow(max_operations)
                                : Path<3>(problem, start).follow(max_operations);
}

}  // namespace heelstrike::friction
