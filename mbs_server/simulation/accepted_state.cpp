#include "mbs_server/simulation/accepted_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

namespace {

bool within(const Violation& violation, const ViolationLimit& limit, const ConstVector& q, const ConstVector& qd) {
  // Axes are unit vectors, so that limits are absolute for models up to a metre and relative to their size beyond.
  return violation.position <= limit.position * std::max(1.0, q.lpNorm<Eigen::Infinity>()) &&
         violation.velocity <= limit.velocity * std::max(1.0, qd.lpNorm<Eigen::Infinity>());
}

}  // namespace

void require_numbers(const System& system, double t, const VectorX& y, const VectorX& z) {
  try {
    system.require_finite(system.state(t, y));
  } catch (const RecoverableError& e) {
    throw Error(ErrorCode::solver_failed, fmt::format("a step ended in an invalid state: {}.", e.what()));
  }
  if (!z.allFinite()) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("work or dissipation is not finite at t = {} s: loads or speeds have grown beyond "
                            "all bounds there.",
                            t));
  }
}

std::string check_accepted_state(System& system, double t, const VectorX& y, const VectorX& z) {
  require_numbers(system, t, y, z);
  const auto q = y.head(system.n_q());
  const auto qd = y.segment(system.n_q(), system.n_q());
  const Violation violation = system.violation(t, q, qd);
  if (within(violation, warning_violation, q, qd)) return {};
  // The name needs another evaluation, made only for the message.
  const MaxResidual worst = system.find_max_residual(t, q, qd);
  if (within(violation, max_violation, q, qd)) return worst.name;
  throw Error(
      ErrorCode::solver_failed,
      fmt::format("a step ended at t = {} s with '{}' violated by {:.2g} in position and {:.2g} in velocity, "
                  "more than {:g} and {:g} of the magnitude of the motion: the step is too large for the method. "
                  "Use a smaller analysis.integrator.step, or an integrator with projection (arkode_erk, "
                  "cvode_index1).",
                  t, worst.name, worst.position, worst.velocity, max_violation.position, max_violation.velocity));
}

}  // namespace heelstrike::mbs
