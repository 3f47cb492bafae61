#include "mbs_server/analysis/vertical_balance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

constexpr int max_evaluations = 60;
constexpr double tolerance = 1e-6;           ///< [-] relative to the prescribed force
constexpr double max_step = 0.01;            ///< [m] of one iteration: a sole is a few centimetres thick
constexpr double out_of_reach = 1.0;         ///< [m] by which other groups are lifted
constexpr double clearance = 1e-6;           ///< [m] between bodies that must not touch
constexpr double first_depth = 1e-3;         ///< [m] first trial without contact
constexpr double min_bracket_width = 1e-12;  ///< [m] of a bracket

bool contains(const std::vector<BodyIndex>& bodies, BodyIndex body) {
  return std::ranges::find(bodies, body) != bodies.end();
}

}  // namespace

VerticalBalance::VerticalBalance(const Scenario& scenario, const Model& model)
    : model_(model),
      gravity_(scenario.gravity.norm()),
      up_(-scenario.gravity.normalized()),
      shifts_(scenario.analysis.balance.size(), 0.0) {
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
      if (std::abs(found.force - target) <= tolerance * target) return shift;
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
    const double target = groups_[g].spec->force.function->at(t).f;
    shifts[g] = target >= groups_[g].spec->threshold ? height_for_force(g, target, t, exchange, prescribed, qd)
                                                     : height_out_of_contact(g, t, exchange, prescribed, qd);
  }
  shifts_ = shifts;
  for (std::size_t g = 0; g < groups_.size(); ++g) shift_bodies(g, shifts[g], q);
}

}  // namespace heelstrike::mbs
