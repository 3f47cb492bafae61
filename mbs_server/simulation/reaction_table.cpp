#include "mbs_server/simulation/reaction_table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <set>

namespace heelstrike::mbs {

Wrench wrench_of(const ConstSegment& q, const ConstSegment& g) {
  Wrench wrench{.torque = Vector3::Zero(), .force = g.head<3>()};
  // A virtual rotation changes v_k by theta x v_k, so that sum_k v_k x g_k is conjugate to theta.
  for (int k = 3; k < coordinates_per_body; k += 3) wrench.torque += q.segment<3>(k).cross(g.segment<3>(k));
  return wrench;
}

ReactionTable::ReactionTable(const System& system) {
  for (std::size_t i = system.model().bodies.size(); i < system.constraints().size(); ++i) {
    for (const BodyIndex body : system.bodies_of(i)) reactions_.push_back({.constraint = i, .body = body});
  }
}

std::vector<Column> ReactionTable::columns(const System& system) const {
  std::vector<Column> columns;
  std::set<std::string> names;
  for (const Reaction& reaction : reactions_) {
    std::string prefix = fmt::format("{}.{}", system.constraints()[reaction.constraint]->name(),
                                     system.model().bodies[static_cast<std::size_t>(reaction.body)].name);
    std::ranges::replace_if(
        prefix, [](char c) { return c == ' ' || c == ':' || c == ','; }, '_');
    const std::string plain = prefix;
    for (int n = 2; !names.insert(prefix).second; ++n) prefix = fmt::format("{}_{}", plain, n);
    for (const char* axis : {"x", "y", "z"}) {
      columns.push_back({prefix + ".f" + axis + "_N", "N", "force of the joint or driver on the body, in the world"});
    }
    for (const char* axis : {"x", "y", "z"}) {
      columns.push_back({prefix + ".t" + axis + "_Nm", "N m",
                         "torque of the joint or driver on the body about its origin, in the world"});
    }
  }
  return columns;
}

void ReactionTable::append(const MotionState& at, System& system, std::vector<double>& row) const {
  const VectorX& lambda = system.accelerations(at).lambda;
  const SparseMatrix& Phi_q = system.jacobian(at.t, at.q);
  for (const Reaction& reaction : reactions_) {
    const Vector12 q_b = at.q.segment<12>(coordinates_per_body * static_cast<Eigen::Index>(reaction.body));
    const Wrench load = wrench_of(q_b, system.constraint_force(reaction.constraint, reaction.body, Phi_q, lambda));
    row.insert(row.end(),
               {load.force.x(), load.force.y(), load.force.z(), load.torque.x(), load.torque.y(), load.torque.z()});
  }
}

}  // namespace heelstrike::mbs
