#include "mbs_server/integrators/moreau.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mbs_server/integrators/integrator.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

using Vector = Eigen::VectorXd;

/// Limit of sequential impacts at one instant. A chain of n bodies needs about n^2 / 2; without rebound some sequences
/// are infinite.
constexpr int max_impact_rounds = 1000;
/// [s] Default step size.
constexpr double default_step = 1e-3;
/// Limit of the penetration that a step may cause by the curvature of paths, over the rounding of gaps: 10 um in a
/// model of a metre. A larger one shows that the midpoint of the step has other contact points than its end, as when a
/// rotating face comes to lie on another: the step is halved, up to this number of times.
constexpr double max_relative_penetration = 1e6;
constexpr int max_halvings = 6;
/// [-] Cosine of the rotation of a normal over half a step, 2 degrees, up to which a path is smooth: the transition of
/// a ball to the next face of a notch is an impact.
constexpr double smooth_normal_cosine = 0.9994;

/// Half a step with the initial velocity, the impulses of the whole step at the midpoint, half a step with the final
/// velocity: of second order, exact for free fall. docs/theory/rigid_contact.md.
///
///     impacts at closed points that approach                    v  -> v+
///     q_m = q + h/2 v+;   M (v_e - v+) = h g(q_m, (v+ + v_e)/2) + J' P;   q_e = q_m + h/2 v_e
///
/// Contact acts over the step at points that are closed at its start or would close slowly. A point that closes faster
/// ends the step at its closure, and the next step begins with its impact. Bounces shorter than a step are not
/// resolved, so that bodies come to rest.
class Moreau final : public Integrator {
 public:
  Moreau(const IntegratorSpec& spec, Problem& problem)
      : spec_(spec), problem_(problem), n_(problem.n_positions()), size_(problem.size()) {
    totals_.name = spec.name;
  }

  void restart(double t, const Vector& y, const Vector& z, std::optional<double> max_step,
               std::span<const int> /*directions*/) override {
    t_ = from_t_ = t;
    y_ = from_y_ = y;
    z_ = from_z_ = z;
    grid_start_ = t;
    count_ = 0;
    set_max_step(max_step);
    ++n_restarts_;
  }
  void set_max_step(std::optional<double> max_step) override {
    const double step = spec_.step.value_or(default_step);
    const double longest = std::min(max_step.value_or(step), step);
    nominal_ = std::min(longest, spec_.max_step.value_or(longest));
    grid_start_ = t_;
    count_ = 0;
  }
  StepResult step(double t_end) override;
  [[nodiscard]] double attempted_time() const override { return attempted_; }
  [[nodiscard]] const Vector& y() const override { return y_; }
  [[nodiscard]] const Vector& quadratures() const override { return z_; }
  void interpolate(double t, Vector& y, Vector& z) override;
  [[nodiscard]] IntegratorStatistics statistics() const override {
    IntegratorStatistics totals = totals_;
    totals.restarts = std::max<std::int64_t>(0, n_restarts_ - 1);
    return totals;
  }

 private:
  /// Effect of contact over a step: velocities at its end.
  struct ContactStep {
    Vector v;
    Vector P{};                ///< [N s]
    double dissipated = 0.0;   ///< [J]
    double driver_work = 0.0;  ///< [J]
  };
  [[nodiscard]] double next_time(double t_end) {
    // After an impact the grid is unchanged. The remainder to the next grid point may be too short for a step.
    double next = grid_start_ + static_cast<double>(count_ + 1) * nominal_;
    while (next <= t_ + 1e-3 * nominal_) next = grid_start_ + static_cast<double>(++count_ + 1) * nominal_;
    return next >= t_end - 1e-6 * nominal_ ? t_end : next;
  }
  void apply_impacts();
  void find_near_points(std::span<const RigidPoint> points);
  std::vector<double> apply_simultaneous_impact(std::span<const std::size_t> touching, std::span<const double> rates);
  void apply_sequential_impacts(std::span<const std::size_t> touching, std::vector<double>& rates);
  [[nodiscard]] double restitution_threshold(std::size_t touching) const {
    return problem_.rigid_contacts()->restitution_threshold(candidate_points_[touching]);
  }
  /// True if a closed point would penetrate over a step. The nominal step is used even if an impact may shorten it:
  /// over a tiny step the slightest approach would cause a large force.
  [[nodiscard]] bool penetrates(double rate) const {
    return -rate * nominal_ > 0.1 * problem_.rigid_contacts()->rounding();
  }
  void try_step(double h);
  [[nodiscard]] double compute_min_gap_rate(const RigidPoint& middle, double rate, double h) const;
  [[nodiscard]] const RigidPoint* point_at_start(const RigidPoint& middle) const;
  /// Contact over a step, apart from the velocities without it.
  struct ContactProblem {
    std::size_t n_points = 0;
    friction::ImpactProblem problem{};
    Eigen::MatrixXd range{};  ///< of the Delassus matrix
    Vector before{};          ///< [m/s] at the points, with the initial velocities of the bodies
    Vector floor{};           ///< [m/s] minimum normal velocities
    Vector start_slip{};      ///< [m/s] at the points of the start
    Vector turned{};          ///< [m/s] change of slip along curved paths in either half of the step; normal: 0
    [[nodiscard]] friction::ImpactSolution solve(const Vector& u, const Vector& slip_offset,
                                                 const Vector& guess) const {
      return friction::solve_contact(problem, range, u, floor, slip_offset, guess);
    }
  };
  [[nodiscard]] ContactProblem make_contact_problem(double h, const Vector& q_m);
  static void follow_mean_slip(const ContactProblem& contact, const Vector& u, friction::ImpactSolution& solution);
  [[nodiscard]] ContactStep apply_contact(const ContactProblem& contact, const Vector& v_free, const Vector& guess);
  /// [m] Minimum gaps of inactive and of active points; infinite when there are none.
  struct Gaps {
    double inactive = 0.0, active = 0.0;
  };
  [[nodiscard]] Gaps gaps_at(double t, const Vector& y);
  /// An approach that is no impact.
  [[nodiscard]] bool is_slow(const RigidPoint& point) const {
    return point.rate >= -problem_.rigid_contacts()->restitution_threshold(point);
  }
  /// True if contact at the point acts over the step, so that no impact has to be located there: it was in contact or
  /// slow at the start, or is slow now. The same place of two bodies may have other points at the start, at the middle
  /// and at the end of a step, as where a corner on a face passes to crossing edges.
  [[nodiscard]] bool acts(const RigidPoint& point) const {
    const auto is_same = [&](const RigidPoint& p) { return p.same_as(point); };
    return is_slow(point) || std::ranges::any_of(closed_points_, is_same) || std::ranges::any_of(near_points_, is_same);
  }

  IntegratorSpec spec_;
  Problem& problem_;
  int n_, size_;
  double nominal_ = 0.0, grid_start_ = 0.0, attempted_ = 0.0;
  std::int64_t count_ = 0;
  double t_ = 0.0, from_t_ = 0.0;
  Vector y_, z_;                              ///< at t_
  Vector from_y_, from_z_;                    ///< start of the last step, after its impacts
  Vector end_y_, end_z_;                      ///< end of the trial step
  std::vector<RigidPoint> candidate_points_;  ///< all points at the start of the step
  std::vector<RigidPoint> closed_points_;     ///< closed points at the start of the step, with rates after its impacts
  std::vector<RigidPoint> near_points_;       ///< open points that would close slowly
  std::int64_t n_restarts_ = 0;
  IntegratorStatistics totals_;
};

/// Applies impulses at all closed points if one of them would penetrate over a step. Only points above the restitution
/// threshold rebound.
void Moreau::apply_impacts() {
  RigidContacts& contacts = *problem_.rigid_contacts();
  const auto points = contacts.evaluate_points(from_t_, from_y_.head(n_), from_y_.segment(n_, n_));
  candidate_points_.assign(points.begin(), points.end());
  closed_points_.clear();
  std::vector<std::size_t> touching;
  bool impact = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].gap > contacts.rounding()) continue;
    touching.push_back(i);
    closed_points_.push_back(points[i]);
    impact = impact || penetrates(points[i].rate);
  }
  if (!impact) {
    find_near_points(points);
    return;
  }
  std::vector<double> rates;
  for (const RigidPoint& point : closed_points_) rates.push_back(point.rate);
  if (std::ranges::any_of(closed_points_, [&](const RigidPoint& p) { return contacts.is_sequential(p); })) {
    apply_sequential_impacts(touching, rates);
    // The remaining approaches are of resting bodies, or beyond the limit of impacts.
    impact = std::ranges::any_of(rates, [&](double rate) { return penetrates(rate); });
  }
  if (impact) rates = apply_simultaneous_impact(touching, rates);
  // The impacts have changed slips and may have started approaches of open points, which are located as any others.
  const auto after = contacts.evaluate_points(from_t_, from_y_.head(n_), from_y_.segment(n_, n_));
  for (std::size_t k = 0; k < rates.size(); ++k) {
    closed_points_[k].rate = rates[k];
    closed_points_[k].slip_W = after[touching[k]].slip_W;
  }
  find_near_points(after);
}

/// Open points that would close slowly, at the rates after the impacts.
void Moreau::find_near_points(std::span<const RigidPoint> points) {
  const RigidContacts& contacts = *problem_.rigid_contacts();
  near_points_.clear();
  for (const RigidPoint& point : points) {
    if (point.gap > contacts.rounding() && is_slow(point)) near_points_.push_back(point);
  }
}

/// Impulses at closed points, given the rates of their gaps. @returns the rates after the impact
std::vector<double> Moreau::apply_simultaneous_impact(std::span<const std::size_t> touching,
                                                      std::span<const double> rates) {
  RigidContacts& contacts = *problem_.rigid_contacts();
  friction::ImpactProblem problem = contacts.select_points(touching);
  bool at_rest = true;
  for (std::size_t k = 0; k < touching.size(); ++k) {
    const bool slow = rates[k] >= -restitution_threshold(touching[k]);
    if (slow) problem.restitution[static_cast<Eigen::Index>(k)] = 0.0;
    at_rest = at_rest && slow;
  }
  const Vector before = contacts.velocities(from_y_.segment(n_, n_));
  const friction::ImpactSolution solution = friction::solve_impact(problem, before);
  const Vector v = from_y_.segment(n_, n_);
  contacts.apply(solution.P, from_y_.segment(n_, n_));
  contacts.note_impact(solution, before, at_rest);
  from_z_[0] -= solution.energy;
  from_z_[1] += contacts.driver_work(solution.P, 0.5 * (v + from_y_.segment(n_, n_)));
  std::vector<double> after(touching.size());
  for (std::size_t k = 0; k < after.size(); ++k) after[k] = solution.u[3 * static_cast<Eigen::Index>(k)];
  return after;
}

/// Sequential impacts at one instant: points that approach simultaneously have a simultaneous impact, and the points
/// that it sets in motion follow in the next round. Points with other impact laws take part in every round.
void Moreau::apply_sequential_impacts(std::span<const std::size_t> touching, std::vector<double>& rates) {
  RigidContacts& contacts = *problem_.rigid_contacts();
  for (int round = 0; round < max_impact_rounds; ++round) {
    std::vector<std::size_t> impacting;
    std::vector<double> active_rates;
    bool fast = false;
    for (std::size_t k = 0; k < touching.size(); ++k) {
      const bool approaches = rates[k] < -restitution_threshold(touching[k]);
      if (!approaches && contacts.is_sequential(closed_points_[k])) continue;
      impacting.push_back(touching[k]);
      active_rates.push_back(rates[k]);
      fast = fast || approaches;
    }
    if (!fast) return;
    (void)apply_simultaneous_impact(impacting, active_rates);
    (void)contacts.select_points(touching);
    const Vector u = contacts.velocities(from_y_.segment(n_, n_));
    for (std::size_t k = 0; k < touching.size(); ++k) rates[k] = u[3 * static_cast<Eigen::Index>(k)];
  }
  std::vector<std::size_t> left;
  double fastest = 0.0;
  for (std::size_t k = 0; k < touching.size(); ++k) {
    if (rates[k] >= -restitution_threshold(touching[k])) continue;
    left.push_back(touching[k]);
    fastest = std::max(fastest, -rates[k]);
  }
  if (!left.empty()) contacts.note_unfinished_impacts(left, max_impact_rounds, fastest);
}

/// [m/s] Rate over the second half of a step of length h for which the gap ends at zero.
/// @param middle  the point at the midpoint of the step
/// @param rate    [m/s] of its gap there, with the initial velocities
double Moreau::compute_min_gap_rate(const RigidPoint& middle, double rate, double h) const {
  const auto of = [&](const std::vector<RigidPoint>& points) -> const RigidPoint* {
    const auto found = std::ranges::find_if(points, [&](const RigidPoint& p) { return p.same_as(middle); });
    return found == points.end() ? nullptr : &*found;
  };
  const RigidPoint* touching = of(closed_points_);
  const RigidPoint* start = touching != nullptr ? touching : of(near_points_);
  const bool smooth = middle.curved && start != nullptr && middle.n_W.dot(start->n_W) > smooth_normal_cosine;
  // An open point may close, but not penetrate. Rounding counts as no gap: with it the rates of redundant points would
  // contradict each other.
  if (!smooth) return -2.0 * std::max(0.0, middle.gap - problem_.rigid_contacts()->rounding()) / h;
  // On curved surfaces the rate changes by curvature, equally in both halves of the step: a ball in a socket
  // approaches, a ball on a ball separates.
  if (touching == nullptr) return -2.0 * start->gap / h - rate;
  // A closed point ends with zero rate, and half of its remaining small gap is removed. A path with equal separation
  // and approach velocity gains no energy.
  return std::min(start->rate - rate - 0.5 * start->gap / h, std::max(0.0, -rate));
}

/// The point at the start of the step, if the surfaces have turned little since; else null.
const RigidPoint* Moreau::point_at_start(const RigidPoint& middle) const {
  for (const auto* points : {&closed_points_, &near_points_}) {
    const auto found = std::ranges::find_if(*points, [&](const RigidPoint& p) { return p.same_as(middle); });
    if (found != points->end()) return middle.n_W.dot(found->n_W) > smooth_normal_cosine ? &*found : nullptr;
  }
  return nullptr;
}

/// The points that act over a step of length h, at its midpoint q_m. The points of the contacts are those of the last
/// call.
Moreau::ContactProblem Moreau::make_contact_problem(double h, const Vector& q_m) {
  ContactProblem contact;
  RigidContacts* contacts = problem_.rigid_contacts();
  if (contacts == nullptr) return contact;
  const Vector v = from_y_.segment(n_, n_);
  const auto points = contacts->evaluate_points(from_t_ + 0.5 * h, q_m, v);
  std::vector<std::size_t> near;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (acts(points[i])) near.push_back(i);
  }
  contact.n_points = near.size();
  if (near.empty()) return contact;
  contact.problem = contacts->select_points(near);
  contact.range = friction::find_range(contact.problem.W);
  contact.before = contacts->velocities(v);
  contact.floor.resize(static_cast<Eigen::Index>(near.size()));
  Vector start = contact.before;
  for (std::size_t k = 0; k < near.size(); ++k) {
    const auto row = static_cast<Eigen::Index>(k);
    const RigidPoint& middle = points[near[k]];
    contact.floor[row] = compute_min_gap_rate(middle, contact.before[3 * row], h);
    if (const RigidPoint* at_start = point_at_start(middle)) {
      const Eigen::Vector3d velocity_W = at_start->slip_W + at_start->rate * at_start->n_W;
      start.segment<3>(3 * row) << middle.n_W.dot(velocity_W), middle.tangents_W.transpose() * velocity_W;
    }
  }
  contact.turned = contact.before - start;
  for (Eigen::Index row = 0; row < start.size(); row += 3) contact.turned[row] = 0.0;
  contact.start_slip = friction::rigid_velocities(contact.problem, contact.range, std::move(start));
  return contact;
}

/// Velocities at the end of the step, from those without contact.
/// @param guess  impulses of the first solution; empty = this is the first one, and not final
Moreau::ContactStep Moreau::apply_contact(const ContactProblem& contact, const Vector& v_free, const Vector& guess) {
  if (contact.n_points == 0) return {.v = v_free};
  RigidContacts* contacts = problem_.rigid_contacts();
  const Vector v = from_y_.segment(n_, n_);
  const Vector u_free = contacts->velocities(v_free);
  // Velocities in the middle of the step are those of axes that are not unit vectors; only with the change of slip are
  // they rigid.
  const auto rigid = [&](const Vector& u) {
    return Vector(friction::rigid_velocities(contact.problem, contact.range, u));
  };
  Vector u = rigid(u_free + contact.turned);
  friction::ImpactSolution solution = contact.solve(u, {}, guess);
  const bool last = guess.size() > 0;
  Vector u_end;  // in the middle, as `before`
  if (solution.converged) {
    if (last) follow_mean_slip(contact, u, solution);
    u_end = solution.u - contact.turned;
  } else {
    // The differences between redundant points may be no motion of rigid bodies: they cannot all stick then.
    solution = contact.solve(rigid(u_free), {}, guess);
    u_end = solution.u;
  }
  ContactStep contact_step{.v = v_free};
  contacts->apply(solution.P, contact_step.v);
  contact_step.dissipated = -0.5 * solution.P.dot(contact.before + u_end);
  contact_step.driver_work = contacts->driver_work(solution.P, 0.5 * (v + contact_step.v));
  if (last) contacts->note_contact(solution);
  contact_step.P = std::move(solution.P);
  return contact_step;
}

/// Friction at the end of a step opposes the slip there. At points that slide throughout the step it opposes the mean
/// slip instead: a direction that rotates would otherwise be ahead by half a step. At others this would reverse a slip
/// that ends.
/// @param u  without contact, at the end of the step
/// @param solution  in: with friction that opposes the slip at the end
void Moreau::follow_mean_slip(const ContactProblem& contact, const Vector& u, friction::ImpactSolution& solution) {
  const auto slides = [&](const friction::ImpactSolution& of, Eigen::Index row) {
    const double limit = contact.problem.mu[row / 3] * of.P[row];
    constexpr double within = 1e-6;
    return limit > 0.0 && of.P.segment<2>(row + 1).norm() > (1.0 - within) * limit;
  };
  Vector offset = Vector::Zero(u.size());
  std::vector<Eigen::Index> sliding;
  for (Eigen::Index row = 0; row < offset.size(); row += 3) {
    const auto start = contact.start_slip.segment<2>(row + 1);
    const bool moves = start.norm() > contact.problem.velocity_rounding;
    if (!moves || !slides(solution, row) || !(start.dot(solution.u.segment<2>(row + 1)) > 0.0)) continue;
    offset.segment<2>(row + 1) = start;
    sliding.push_back(row);
  }
  if (sliding.empty()) return;
  friction::ImpactSolution mean = contact.solve(u, offset, solution.P);
  if (!mean.converged) return;
  for (const Eigen::Index row : sliding) {
    if (!slides(mean, row) || !(mean.u.segment<2>(row + 1).dot(solution.u.segment<2>(row + 1)) > 0.0)) return;
  }
  solution = std::move(mean);
}

/// One step of length h from from_y_ to end_y_.
void Moreau::try_step(double h) {
  if (RigidContacts* contacts = problem_.rigid_contacts()) contacts->reset_contact();
  const double t_m = from_t_ + 0.5 * h;
  const auto v = from_y_.segment(n_, n_);
  Vector middle = from_y_, rates(size_);
  middle.head(n_) += 0.5 * h * v;
  problem_.rhs(t_m, middle, rates);
  const Vector q_m = middle.head(n_);
  // Velocity-dependent forces and centrifugal terms are evaluated at the mean velocity, here with its first guess.
  const ContactProblem contact = make_contact_problem(h, q_m);
  const ContactStep guess = apply_contact(contact, v + h * rates.segment(n_, n_), {});
  middle.segment(n_, n_) = 0.5 * (v + guess.v);
  middle.tail(size_ - 2 * n_) += 0.5 * h * rates.tail(size_ - 2 * n_);
  problem_.rhs(t_m, middle, rates);
  totals_.rhs_evaluations += 2;
  Vector work(z_.size());
  problem_.quadrature_rhs(t_m, middle, work);
  const ContactStep contact_step = apply_contact(contact, v + h * rates.segment(n_, n_), guess.P);
  end_y_ = from_y_;
  end_y_.head(n_) = q_m + 0.5 * h * contact_step.v;
  end_y_.segment(n_, n_) = contact_step.v;
  end_y_.tail(size_ - 2 * n_) += h * rates.tail(size_ - 2 * n_);
  problem_.restore_rigid_bodies(end_y_);
  problem_.project(from_t_ + h, end_y_);
  end_z_ = from_z_ + h * work;
  end_z_[0] += contact_step.dissipated;
  end_z_[1] += contact_step.driver_work;
}

Moreau::Gaps Moreau::gaps_at(double t, const Vector& y) {
  RigidContacts* contacts = problem_.rigid_contacts();
  constexpr double none = std::numeric_limits<double>::infinity();
  Gaps gaps{.inactive = none, .active = none};
  if (contacts == nullptr) return gaps;
  for (const RigidPoint& point : contacts->evaluate_points(t, y.head(n_), y.segment(n_, n_))) {
    double& least = acts(point) ? gaps.active : gaps.inactive;
    least = std::min(least, point.gap);
  }
  return gaps;
}

StepResult Moreau::step(double t_end) {
  RigidContacts* contacts = problem_.rigid_contacts();
  from_t_ = t_;
  from_y_ = y_;
  from_z_ = z_;
  double h = next_time(t_end) - t_;
  attempted_ = t_ + h;
  if (contacts != nullptr) {
    contacts->begin_step(t_, nominal_);
    apply_impacts();
  }
  try_step(h);
  const double tolerance = contacts == nullptr ? 0.0 : contacts->rounding();
  Gaps gaps = gaps_at(from_t_ + h, end_y_);
  double penetrating = max_relative_penetration * tolerance;
  for (const RigidPoint& point : closed_points_)
    penetrating = std::max(penetrating, max_relative_penetration * tolerance - point.gap);
  for (int i = 0; i < max_halvings && gaps.active < -penetrating; ++i) {
    h *= 0.5;
    try_step(h);
    gaps = gaps_at(from_t_ + h, end_y_);
  }
  double right_gap = gaps.inactive;
  if (right_gap < -tolerance) {
    // The Illinois variant of false position, as for roots: the first closure ends the step.
    double left = 0.0, right = h;
    double max_residual_gap = std::max(gaps_at(from_t_, from_y_).inactive, tolerance);
    if (!std::isfinite(max_residual_gap)) max_residual_gap = -right_gap;
    // Where points appear or disappear, as at edges that coincide, the gap jumps, and false position hardly converges:
    // after two steps that halve neither the gap nor the interval it is bisected, until positions agree to rounding.
    // A body that starts from rest moves by the velocity at the end of the step.
    const double velocity =
        std::max(from_y_.segment(n_, n_).lpNorm<Eigen::Infinity>(), end_y_.segment(n_, n_).lpNorm<Eigen::Infinity>());
    const double same_position = 0.5 * tolerance / velocity;
    double last_gap = -right_gap;
    int n_slow = 0;
    for (int i = 0; i < 100 && std::abs(right_gap) > 0.0; ++i) {
      const double width = right - left;
      h = (left * right_gap - right * max_residual_gap) / (right_gap - max_residual_gap);
      if (!(h > left && h < right) || n_slow > 1) h = 0.5 * (left + right);
      try_step(h);
      const double gap = gaps_at(from_t_ + h, end_y_).inactive;
      if (std::abs(gap) <= 0.5 * tolerance || width <= 1e-15 * (std::abs(t_) + nominal_)) break;
      if (n_slow > 1 && width <= same_position) break;
      if (gap < 0.0) {
        right = h;
        right_gap = gap;
        max_residual_gap *= 0.5;
      } else {
        left = h;
        max_residual_gap = std::isfinite(gap) ? gap : -right_gap;
        right_gap *= 0.5;
      }
      if (std::abs(gap) > 0.5 * last_gap && right - left > 0.5 * width) ++n_slow;
      last_gap = std::abs(gap);
    }
  }
  // Remove the small penetration due to the curvature of paths.
  if (contacts != nullptr) {
    separate(
        *contacts, problem_, from_t_ + h, end_y_, [this](const RigidPoint& point) { return acts(point); }, 3);
  }
  t_ = from_t_ + h == attempted_ ? attempted_ : from_t_ + h;
  y_ = end_y_;
  z_ = end_z_;
  if (contacts != nullptr) contacts->end_step(t_);
  ++totals_.steps;
  return {.t = t_, .step_size = h, .roots = {}};
}

void Moreau::interpolate(double t, Vector& y, Vector& z) {
  const double h = t_ - from_t_;
  const double s = (t - from_t_) / h;
  y = (1.0 - s) * from_y_ + s * y_;
  // Positions by the parabola through both ends with the initial velocity, exact for free fall.
  y.head(n_) = from_y_.head(n_) + s * h * from_y_.segment(n_, n_) +
               s * s * (y_.head(n_) - from_y_.head(n_) - h * from_y_.segment(n_, n_));
  z = (1.0 - s) * from_z_ + s * z_;
}

}  // namespace

void separate(RigidContacts& contacts, Problem& problem, double t, Eigen::VectorXd& y,
              const std::function<bool(const RigidPoint&)>& acts, int rounds) {
  const int n = problem.n_positions();
  for (int round = 0; round < rounds; ++round) {
    const auto points = contacts.evaluate_points(t, y.head(n), y.segment(n, n));
    std::vector<std::size_t> penetrating;
    double deepest = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i].gap >= contacts.rounding() || !acts(points[i])) continue;
      penetrating.push_back(i);
      deepest = std::min(deepest, points[i].gap);
    }
    if (deepest >= -0.5 * contacts.rounding()) return;
    const friction::ImpactProblem& impact = contacts.select_points(penetrating);
    const auto m = static_cast<Eigen::Index>(penetrating.size());
    Eigen::MatrixXd A(m, m);
    Vector gaps(m), lengths;
    for (Eigen::Index i = 0; i < m; ++i) {
      gaps[i] = points[penetrating[static_cast<std::size_t>(i)]].gap;
      for (Eigen::Index j = 0; j < m; ++j) A(i, j) = impact.W(3 * i, 3 * j);
    }
    if (!friction::solve_normal(A, gaps, lengths)) return;
    Vector pushes = Vector::Zero(3 * m);
    for (Eigen::Index i = 0; i < m; ++i) pushes[3 * i] = lengths[i];
    contacts.apply(pushes, y.head(n));
    problem.project(t, y);
  }
}

namespace {

/// Changes of the velocities at points while all bodies keep their velocities over a step: of curved paths, or of
/// surfaces that turn.
class VelocityTurn {
 public:
  /// @param h  [s] of the step, whose middle is the state
  VelocityTurn(RigidContacts& contacts, const Vector& q, const Vector& v, double h)
      : before_(points_at(contacts, q - 0.5 * h * v, v)), after_(points_at(contacts, q + 0.5 * h * v, v)) {}

  /// [m/s] Along the normal and the tangents of the point. Zero where its surfaces are not smooth.
  [[nodiscard]] Eigen::Vector3d at(const RigidPoint& point) const {
    const RigidPoint* before = smooth_neighbour(before_, point);
    const RigidPoint* after = smooth_neighbour(after_, point);
    if (before == nullptr || after == nullptr) return Eigen::Vector3d::Zero();
    const Eigen::Vector3d change_W = velocity_W(*after) - velocity_W(*before);
    Eigen::Vector3d change;
    change << after->rate - before->rate, point.tangents_W.transpose() * change_W;
    return change;
  }

 private:
  using Points = std::vector<RigidPoint>;
  static Points points_at(RigidContacts& contacts, const Vector& q, const Vector& v) {
    const auto points = contacts.evaluate_points(0.0, q, v);
    return {points.begin(), points.end()};
  }
  static const RigidPoint* smooth_neighbour(const Points& points, const RigidPoint& point) {
    const auto found = std::ranges::find_if(points, [&](const RigidPoint& p) { return p.same_as(point); });
    return found != points.end() && found->n_W.dot(point.n_W) > smooth_normal_cosine ? &*found : nullptr;
  }
  static Eigen::Vector3d velocity_W(const RigidPoint& point) { return point.slip_W + point.rate * point.n_W; }

  Points before_, after_;
};

}  // namespace

/// The forces of the instant are those of a step whose middle is the initial state.
void note_initial_forces(RigidContacts& contacts, Problem& problem, const Eigen::VectorXd& y,
                         std::optional<double> step) {
  const int n = problem.n_positions();
  const double h = step.value_or(default_step);
  Vector rates(problem.size());
  problem.rhs(0.0, y, rates);
  const VelocityTurn turn(contacts, y.head(n), y.segment(n, n), h);
  const auto points = contacts.evaluate_points(0.0, y.head(n), y.segment(n, n));
  std::vector<std::size_t> touching;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].gap <= contacts.rounding() && points[i].rate >= -contacts.restitution_threshold(points[i]))
      touching.push_back(i);
  }
  if (touching.empty()) return;
  contacts.begin_step(0.0, h);
  const friction::ImpactProblem& problem_of_step = contacts.select_points(touching);
  const Vector v_free = y.segment(n, n) + h * rates.segment(n, n);
  const auto n_points = static_cast<Eigen::Index>(touching.size());
  Vector turned(3 * n_points), floor(n_points);
  for (Eigen::Index k = 0; k < n_points; ++k) {
    turned.segment<3>(3 * k) = turn.at(points[touching[static_cast<std::size_t>(k)]]);
    floor[k] = -std::exchange(turned[3 * k], 0.0);
  }
  const Eigen::MatrixXd range = friction::find_range(problem_of_step.W);
  const Vector u_free = contacts.velocities(v_free);
  // As in a step.
  const auto solve = [&](const Vector& u) {
    return friction::solve_contact(problem_of_step, range, friction::rigid_velocities(problem_of_step, range, u),
                                   floor);
  };
  friction::ImpactSolution solution = solve(u_free + turned);
  if (!solution.converged) solution = solve(u_free);
  contacts.note_contact(solution);
  contacts.end_step(h);
}

IntegratorEntry moreau() {
  IntegratorEntry entry = integrator_entry<Moreau>(
      "moreau", "Moreau's time stepping for rigid contact: order 2 with fixed step, located impacts with restitution",
      {config::number("step", "s", config::times, "step size; shorter bounces end at rest", 0.001)});
  entry.solves_impacts = true;
  return entry;
}

}  // namespace heelstrike::mbs
