#include "benchmarks/foot_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "benchmarks/clocks.hpp"
#include "fem_server/contact_solver/pairing/contact_pairing.hpp"
#include "fem_server/contact_solver/solver/friction_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "tests/support/foot_case.hpp"

namespace heelstrike::bench {
namespace {

constexpr double friction_coefficient = 0.3;  // [-]
constexpr double continuation_step = 2e-5;    // [m] of a step
/// Gap under load relative to the depth, up to which a committed state includes open nodes; as in fem_condensed.
constexpr double cached_block_gap = 0.02;

PairState approach(double sole, double depth) {
  PairState state = fem::test::loaded_foot(sole, depth);
  state.X_AB.p.x() = 0.2 * depth;
  state.X_AB.R = rotation_from_vector(Vector3(0.0, 0.5 * depth, 0.0));
  return state;
}

fem::SurfaceCompliance compliance_of(const Eigen::MatrixXd& W) {
  const Eigen::Index n = W.rows() / 3;
  std::vector<double> blocks;
  blocks.reserve(static_cast<std::size_t>(W.size()));
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < n; ++i) {
      const Matrix3 block = W.block<3, 3>(3 * i, 3 * j);
      blocks.insert(blocks.end(), block.data(), block.data() + 9);
    }
  }
  return {static_cast<std::size_t>(n), std::move(blocks)};
}

/// The problem in the form of fem_condensed: all normals are the first axis, stick points the origin.
fem::FrictionProblem to_friction_problem(const friction::LocalProblem& problem) {
  fem::FrictionProblem ours;
  ours.friction = problem.mu[0];
  const auto n = static_cast<std::uint32_t>(problem.n_contacts());
  for (std::uint32_t i = 0; i < n; ++i) {
    const Vector3 q = problem.q.segment<3>(3 * Eigen::Index{i});
    ours.near.nodes.push_back(i);
    ours.near.gaps.push_back(q.x());
    ours.near.normals.push_back(Vector3::UnitX());
    ours.positions.emplace_back(0.0, q.y(), q.z());
  }
  ours.near.force_before.assign(n, Vector3::Zero());
  ours.near.u_before.assign(n, Vector3::Zero());
  ours.near.known.assign(n, false);
  ours.stick_point = [](std::uint32_t) { return fem::StickPoint{}; };
  return ours;
}

/// Warm-start data of the previous committed step.
void initialise_from(const Eigen::VectorXd& before, const Eigen::MatrixXd& W, const fem::SurfaceCompliance& compliance,
                     fem::FrictionProblem& ours) {
  const Eigen::VectorXd u = W * before;
  std::vector<fem::CommittedContactNode> kept;
  for (std::uint32_t i = 0; i < ours.near.nodes.size(); ++i) {
    ours.near.force_before[i] = before.segment<3>(3 * Eigen::Index{i});
    ours.near.u_before[i] = u.segment<3>(3 * Eigen::Index{i});
    ours.near.known[i] = true;
    const bool loaded = !ours.near.force_before[i].isZero(0.0);
    if (!loaded && ours.near.gaps[i] + ours.near.u_before[i].x() >= cached_block_gap * ours.near.deepest()) continue;
    ours.near.kept.push_back(i);
    kept.push_back({.axes = fem::contact_axes(ours.R_AB, Vector3::UnitX()), .force = ours.near.force_before[i]});
  }
  const std::vector<std::uint32_t> numbers = ours.near.candidates(ours.near.kept);
  ours.near.cached_blocks = std::make_shared<const fem::SurfaceCompliance>(fem::copied_blocks(compliance, numbers));
  ours.committed = std::make_shared<const fem::CommittedFriction>(*ours.near.cached_blocks, kept);
  if (!ours.committed->valid()) ours.committed = nullptr;
}

}  // namespace

std::vector<FootStep> foot_steps(int n, int every, double h) {
  std::vector<FootStep> steps;
  if (!fem::test::foot_scan()) return steps;
  fem::CondensedModel model = fem::test::condensed_model(fem::test::foot_body(fem::test::foot_mesh(h), 0.0));
  model.options.friction = friction_coefficient;
  const std::vector<Vector3> points = model.points;
  const double sole = fem::test::sole_height(points);
  const fem::CondensedContact contact("fem_condensed", std::move(model), ParameterMap{});
  std::shared_ptr<const fem::History> history = contact.initial_history();
  std::map<std::uint32_t, Vector3> forces;  // [N] in A
  for (int k = 1; k <= n; ++k) {
    const PairState state = approach(sole, continuation_step * k);
    FootStep step{
        .name = fmt::format("foot-{:03}", k), .problem = contact.local_problem(*history, state), .before = {}};
    history = contact.commit(*history, state).history;
    // The committed state lists the nodes of the problem in the same order.
    const auto& nodes = dynamic_cast<const fem::CommittedContact&>(*history).nodes;
    step.before = Eigen::VectorXd::Zero(step.problem.q.size());
    const Matrix3 axes = fem::contact_axes(state.X_AB.R, state.X_AB.R * Vector3::UnitZ());
    if (static_cast<Eigen::Index>(3 * nodes.size()) != step.before.size()) {
      throw std::runtime_error("the nodes of a foot step differ from those of its problem");
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto found = forces.find(nodes[i].node);
      if (found != forces.end())
        step.before.segment<3>(static_cast<Eigen::Index>(3 * i)) = axes.transpose() * found->second;
    }
    forces.clear();
    for (const auto& node : nodes) forces[node.node] = node.force;
    if (k % every == 0 && step.problem.n_contacts() > 0) steps.push_back(std::move(step));
  }
  return steps;
}

CondensedTimes solve_with_condensed(const friction::LocalProblem& problem, const Eigen::VectorXd* before,
                                    int repetitions) {
  fem::use_one_blas_thread();
  const Eigen::MatrixXd W = problem.W;
  const fem::SurfaceCompliance compliance = compliance_of(W);
  fem::FrictionProblem ours = to_friction_problem(problem);
  CondensedTimes times{.r = Eigen::VectorXd::Zero(problem.q.size()),
                       .seconds = std::numeric_limits<double>::infinity()};
  if (before != nullptr && !before->isZero(0.0)) {
    const double start = thread_seconds();
    initialise_from(*before, W, compliance, ours);
    times.keeping = thread_seconds() - start;
  }
  fem::FrictionContact contact;
  for (int i = 0; i < repetitions; ++i) {
    const double start = thread_seconds();
    contact = fem::solve_friction_contact(compliance, ours);
    times.seconds = std::min(times.seconds, thread_seconds() - start);
  }
  for (std::size_t a = 0; a < contact.active.size(); ++a) {
    times.r.segment<3>(3 * Eigen::Index{contact.active[a]}) =
        contact.lambda[static_cast<Eigen::Index>(a)] * Vector3::UnitX() + contact.traction[a];
  }
  return times;
}

}  // namespace heelstrike::bench
