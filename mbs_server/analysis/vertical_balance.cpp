#include "mbs_server/analysis/vertical_balance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {
namespace {

constexpr int max_evaluations = 60;
constexpr double tolerance = 1e-6;           ///< [-] relative to the prescribed force
constexpr double max_step = 0.01;            ///< [m] of one iteration: a sole is a few centimetres thick
constexpr double out_of_reach = 1.0;         ///< [m] by which other groups are lifted
constexpr double clearance = 1e-6;           ///< [m] between bodies that must not touch
constexpr double first_depth = 1e-3;         ///< [m] first trial without contact
constexpr double min_bracket_width = 1e-12;  ///< [m] of a bracket
constexpr int max_slides = 30;
/// [N/m] of a sole that takes its shear from the motion of the whole body: 5 mm of marker error are 5 N.
constexpr double default_sliding_stiffness = 1e3;
constexpr double max_shear_ratio = 0.3;   ///< [-] of the vertical force: walking on level ground has up to 0.28
constexpr double slide_tolerance = 1e-5;  ///< [-] shear without balance relative to the prescribed force
constexpr double min_step_share = 0.05;   ///< [-] of a Newton step of the slide

bool contains(const std::vector<BodyIndex>& bodies, BodyIndex body) {
  return std::ranges::find(bodies, body) != bodies.end();
}

/// A prescribed shear that the contact exerts: without friction it has no functions.
bool has_shear(const BalanceSpec& spec) {
  return std::ranges::any_of(spec.shear_force, [](const TimeFunctionPtr& component) { return component != nullptr; });
}

/// [N] prescribed horizontal force on the bodies in the world; zero if the shear is a result.
Vector3 shear_at(const BalanceSpec& spec, double t) {
  Vector3 force = Vector3::Zero();
  for (Eigen::Index c = 0; c < 3; ++c) {
    if (const auto& component = spec.shear_force[static_cast<std::size_t>(c)]) force[c] = component->at(t).f;
  }
  return force;
}

}  // namespace

VerticalBalance::VerticalBalance(const Scenario& scenario, const Model& model)
    : model_(model),
      gravity_(scenario.gravity.norm()),
      up_(-scenario.gravity.normalized()),
      shifts_(scenario.analysis.balance.size(), 0.0),
      slides_(Eigen::VectorXd::Zero(3 * static_cast<Eigen::Index>(scenario.analysis.balance.size()))) {
  for (const BalanceSpec& spec : scenario.analysis.balance) {
    Group group{.spec = &spec, .bodies = {}, .sign = {}};
    for (std::size_t i = 0; i < model.bodies.size(); ++i) {
      const auto named = std::ranges::find(spec.bodies, model.bodies[i].name);
      if (named != spec.bodies.end()) group.bodies.push_back(static_cast<BodyIndex>(i));
    }
    for (const auto& pair : model.pairs) {
      const double main = contains(group.bodies, pair.main) ? 1.0 : 0.0;
      const double partner = contains(group.bodies, pair.partner) ? 1.0 : 0.0;
      group.sign.push_back(main - partner);
    }
    if (std::ranges::all_of(group.sign, [](double sign) { return sign == 0.0; })) {
      throw input_error(
          "analysis.balance",
          fmt::format("{}: expected bodies with a contact pair, found none; add a pair in `contact`", spec.where));
    }
    groups_.push_back(std::move(group));
  }
}

void VerticalBalance::shift_bodies(std::size_t group, double shift, Eigen::Ref<Eigen::VectorXd> q) const {
  for (const BodyIndex body : groups_[group].bodies) {
    q.segment<3>(coordinates_per_body * static_cast<Eigen::Index>(body)) += shift * up_;
  }
}

VerticalBalance::GroupForce VerticalBalance::evaluate_force(std::size_t group, double shift, double t,
                                                            ContactExchange& exchange, const Eigen::VectorXd& q,
                                                            const ConstVector& qd) {
  Eigen::VectorXd moved = q;
  for (std::size_t g = 0; g < groups_.size(); ++g) shift_bodies(g, g == group ? shift : out_of_reach, moved);
  const auto responses = exchange.responses(t, moved, qd);
  GroupForce found{.force = 0.0, .stiffness = 0.0, .gap = std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < responses.size(); ++i) {
    const double sign = groups_[group].sign[i];
    if (sign == 0.0) continue;
    const Matrix3 R_WA = main_pose(model_.pairs[i], moved).R;
    const Vector3 n_A = R_WA.transpose() * up_;
    found.force += sign * n_A.dot(responses[i].F_A.force);
    found.stiffness -= n_A.dot(responses[i].dF_A_dX.bottomRightCorner<3, 3>() * n_A);
    found.force_W += sign * R_WA * responses[i].F_A.force;
    found.stiffness_W -= R_WA * responses[i].dF_A_dX.bottomRightCorner<3, 3>() * R_WA.transpose();
    found.gap = std::min(found.gap, responses[i].gap);
  }
  return found;
}

double VerticalBalance::height_out_of_contact(std::size_t group, double t, ContactExchange& exchange,
                                              const Eigen::VectorXd& q, const ConstVector& qd) {
  double shift = 0.0;
  for (int i = 0; i < max_evaluations; ++i) {
    try {
      const double gap = evaluate_force(group, shift, t, exchange, q, qd).gap;
      if (gap >= 0.0) return shift;
      shift += clearance - gap;
    } catch (const RecoverableError&) {
      shift += max_step;  // too deep for the contact
    }
  }
  throw RecoverableError(
      fmt::format("{}: the bodies are in contact at every height at t = {} s", groups_[group].spec->where, t));
}

double VerticalBalance::height_for_force(std::size_t group, double target, double t, ContactExchange& exchange,
                                         const Eigen::VectorXd& q, const ConstVector& qd) {
  double shift = shifts_[group];
  double low = -std::numeric_limits<double>::infinity(), high = -low;  // force above, below the target
  GroupForce found;
  for (int i = 0; i < max_evaluations; ++i) {
    double next = 0.0;
    try {
      found = evaluate_force(group, shift, t, exchange, q, qd);
      if (std::abs(found.force - target) <= tolerance * target) {
        last_ = found;
        return shift;
      }
      (found.force > target ? low : high) = shift;
      const double newton = found.force > 0.0 && found.stiffness < 0.0 ? (target - found.force) / found.stiffness
                                                                       : -std::max(found.gap, 0.0) - first_depth;
      next = shift + std::clamp(newton, -max_step, max_step);
    } catch (const RecoverableError&) {
      low = shift;  // too deep for the contact
      next = shift + max_step;
    }
    const bool inside = next > low && next < high;
    if (!inside && high - low < min_bracket_width) break;
    shift = inside ? next : 0.5 * (low + high);
    if (!std::isfinite(shift)) shift = std::isfinite(low) ? low + max_step : high - max_step;
  }
  throw RecoverableError(fmt::format(
      "{}: no height gives {:.6g} N at t = {} s; the last trial, {:.6g} m from the prescribed height, gives {:.6g} N",
      groups_[group].spec->where, target, t, shift, found.force));
}

double VerticalBalance::slide_under_force(std::size_t group, double target, double t, ContactExchange& exchange,
                                          const Eigen::VectorXd& q, const ConstVector& qd) {
  const BalanceSpec& spec = *groups_[group].spec;
  const auto first = coordinates_per_body * static_cast<Eigen::Index>(groups_[group].bodies.front());
  const Vector3 along = pose_from_coordinates(q.segment<coordinates_per_body>(first)).R.col(0);
  const Vector3 forward = (along - along.dot(up_) * up_).normalized();
  Eigen::Matrix<double, 3, 2> axes;
  axes << forward, up_.cross(forward);
  Eigen::Vector2d compliance = Eigen::Vector2d::Constant(1.0 / default_sliding_stiffness);
  if (!spec.sliding_stiffness.empty()) {
    compliance = Eigen::Vector2d(1.0 / spec.sliding_stiffness[0], 1.0 / spec.sliding_stiffness[1]);
  }
  Eigen::Vector2d given = axes.transpose() * shear_at(spec, t);
  // At low loads a prescribed force beyond the friction would slide the bodies away, and they would stick there.
  const double limit = max_shear_ratio * target;
  if (given.norm() > limit) given *= limit / given.norm();
  const auto slide_W = slides_.segment<3>(3 * static_cast<Eigen::Index>(group));
  Eigen::Vector2d slide = axes.transpose() * slide_W;
  const auto solve = [&](const Eigen::Vector2d& u) {
    Eigen::VectorXd moved = q;
    for (const BodyIndex body : groups_[group].bodies) {
      moved.segment<3>(coordinates_per_body * static_cast<Eigen::Index>(body)) += axes * u;
    }
    shifts_[group] = height_for_force(group, target, t, exchange, moved, qd);
    return Eigen::Vector2d(compliance.cwiseProduct(axes.transpose() * last_.force_W - given) - u);
  };
  Eigen::Vector2d residual = solve(slide);
  for (int i = 0; i < max_slides; ++i) {
    const Eigen::Vector2d unbalanced = residual.cwiseQuotient(compliance);
    if (unbalanced.norm() <= slide_tolerance * target) {
      slides_.segment<3>(3 * static_cast<Eigen::Index>(group)) = axes * slide;
      return shifts_[group];
    }
    const Matrix3& K = last_.stiffness_W;
    const Eigen::Matrix2d K_h = axes.transpose() * K * axes;
    const Eigen::Vector2d to_shift = axes.transpose() * K * up_;
    const Eigen::RowVector2d from_slide = up_.transpose() * K * axes;
    const Eigen::Matrix2d condensed = K_h - to_shift * from_slide / last_.stiffness;
    const Eigen::Matrix2d J = Eigen::Matrix2d::Identity() - compliance.asDiagonal() * condensed;
    const Eigen::Vector2d step = J.partialPivLu().solve(residual);
    // A tangent of slipping nodes may be far from the secant: shorten steps that do not reduce the residual.
    double share = 1.0;
    Eigen::Vector2d next = solve(slide + step);
    while (!(next.norm() < residual.norm()) && share > min_step_share) {
      share *= 0.5;
      next = solve(slide + share * step);
    }
    slide += share * step;
    residual = next;
  }
  throw RecoverableError(fmt::format("{}: no slide balances the shear at t = {} s; {:.3g} N remain", spec.where, t,
                                     residual.cwiseQuotient(compliance).norm()));
}

std::vector<double> VerticalBalance::balance_forces(const ConstVector& q, std::span<const Response> responses) const {
  std::vector<double> forces;
  for (const Group& group : groups_) {
    double force = 0.0;
    for (const BodyIndex body : group.bodies) {
      force += gravity_ * model_.bodies[static_cast<std::size_t>(body)].mass_properties.mass;
    }
    for (std::size_t i = 0; i < responses.size(); ++i) {
      force -= group.sign[i] * up_.dot(main_pose(model_.pairs[i], q).R * responses[i].F_A.force);
    }
    forces.push_back(force);
  }
  return forces;
}

void VerticalBalance::move(double t, ContactExchange& exchange, Eigen::Ref<Eigen::VectorXd> q, const ConstVector& qd) {
  const Eigen::VectorXd prescribed = q;
  std::vector<double> shifts(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const BalanceSpec& spec = *groups_[g].spec;
    const double target = spec.force.function->at(t).f;
    auto slide = slides_.segment<3>(3 * static_cast<Eigen::Index>(g));
    if (target < spec.threshold) {
      slide.setZero();
      shifts[g] = height_out_of_contact(g, t, exchange, prescribed, qd);
    } else if (spec.sliding_stiffness.empty() && !has_shear(spec)) {
      shifts[g] = height_for_force(g, target, t, exchange, prescribed, qd);
    } else {
      shifts[g] = slide_under_force(g, target, t, exchange, prescribed, qd);
    }
  }
  shifts_ = shifts;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    shift_bodies(g, shifts[g], q);
    for (const BodyIndex body : groups_[g].bodies) {
      q.segment<3>(coordinates_per_body * static_cast<Eigen::Index>(body)) +=
          slides_.segment<3>(3 * static_cast<Eigen::Index>(g));
    }
  }
}

}  // namespace heelstrike::mbs
