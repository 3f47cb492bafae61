#include "mbs_server/simulation/run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "common/text/suggestion.hpp"

namespace heelstrike::mbs {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

void add_columns(std::vector<Column>& columns, const std::string& prefix, std::initializer_list<const char*> names,
                 const std::string& suffix, const std::string& unit, const std::string& meaning) {
  for (const char* name : names) columns.push_back({prefix + "." + name + suffix, unit, meaning});
}

void append(std::vector<double>& row, const Vector3& v) {
  row.insert(row.end(), {v.x(), v.y(), v.z()});
}

void append_body(std::vector<double>& row, const ConstSegment& q, const ConstSegment& qd) {
  const Pose X_WB = pose_from_coordinates(q);
  const Quaternion rotation = quaternion_from_rotation(X_WB.R);
  const Twist V_WB = twist_from_rates(q, qd);
  append(row, X_WB.p);
  row.insert(row.end(), {rotation.w(), rotation.x(), rotation.y(), rotation.z()});
  append(row, V_WB.v);
  append(row, V_WB.w);
}

/// The first entries of a pair: gap, indentation and gap rate.
std::array<double, 3> gap_entries(const Response& response) {
  return {response.gap, std::max(0.0, -response.gap), response.gap_rate};
}

/// Entries of a pair: gap, force, torque, the columns of its response.
constexpr std::size_t entries_per_pair = [] {
  std::size_t n = 3 + 3 + 3;
  hs::for_each_response_member<>([&](const hs::ResponseMember& row) {
    if (row.is_in(hs::ResponseOutput::column)) n += row.kind == hs::MemberKind::number ? 1 : 3;
  });
  return n;
}();
/// Entries before the first pair: time, bodies, energies.
std::size_t first_pair_entry(const Model& model) {
  return 1 + (3 + 4 + 3 + 3) * model.bodies.size() + 4;
}

/// Appends a member of the response in the world; of an open pair zero, or none for a vector.
void append_member(std::vector<double>& row, hs::MemberKind, double value, const Pose&, bool acts) {
  row.push_back(acts ? value : 0.0);
}
void append_member(std::vector<double>& row, hs::MemberKind kind, const Vector3& value, const Pose& X_WA, bool acts) {
  const bool is_point = kind == hs::MemberKind::point;
  append(row, !acts ? Vector3::Constant(none) : is_point ? X_WA * value : Vector3(X_WA.R * value));
}

/// @param acts  false for an open pair, which exerts no force even if its gap is negative by a rounding error
void append_pair(std::vector<double>& row, const ContactPair& pair, const ConstVector& q, const Response& response,
                 bool acts) {
  const Pose X_WA = main_pose(pair, q);
  const Wrench F_W = acts ? in_world(X_WA.R, response.F_A) : Wrench{};
  const std::array gap = gap_entries(response);
  row.insert(row.end(), gap.begin(), gap.end());
  append(row, F_W.force);
  append(row, F_W.torque);
  hs::for_each_response_member<Response>([&](const hs::ResponseMember& member, auto pointer) {
    if (!member.is_in(hs::ResponseOutput::column)) return;
    append_member(row, member.kind, std::invoke(pointer, response), X_WA, acts);
  });
}

/// Force and torque of a joint on its side b (or, where b is ground, minus those on a), about the joint's point on b.
Wrench joint_reaction(std::size_t joint, const ConstVector& q, const System& system, const SparseMatrix& Phi_q,
                      const VectorX& lambda) {
  const Joint& j = system.model().joints[joint];
  // The ground has no coordinates: its reaction is the opposite of that on the other side.
  const bool on_a = j.b.body == ground;
  const BodyIndex body = on_a ? j.a.body : j.b.body;
  const Vector12 q_b = q.segment<12>(coordinates_per_body * static_cast<Eigen::Index>(body));
  Wrench reaction = wrench_of(q_b, system.constraint_force(system.model().bodies.size() + joint, body, Phi_q, lambda));
  const Pose X_WB = pose_from_coordinates(q_b);
  // From the body's origin to the joint's point: torque_P = torque - p x force.
  reaction.torque -= (X_WB.R * (on_a ? j.a : j.b).X_BF.p).cross(reaction.force);
  if (on_a) return {.torque = -reaction.torque, .force = -reaction.force};
  return reaction;
}

bool has_joint_force_columns(const System& system) {
  return !system.unilaterals().empty() || std::ranges::any_of(system.model().joints, &Joint::reactions);
}

/// @param lambda  multipliers of joints
/// @param gaps    true: actual gaps; false: zero, which is their change with forces
void append_unilateral(std::vector<double>& row, const ConstVector& q, const VectorX& lambda, bool gaps,
                       const System& system) {
  for (std::size_t i = 0; i < system.unilaterals().size(); ++i) {
    row.push_back(gaps ? system.unilaterals()[i]->gap().residual(0.0, q) : 0.0);
    row.push_back(system.joint_force(i, lambda));
  }
}

/// @param lambda  multipliers of joints
void append_reactions(std::vector<double>& row, const MotionState& at, const VectorX& lambda, System& system) {
  const auto& joints = system.model().joints;
  const SparseMatrix& Phi_q = system.jacobian(at.t, at.q);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    if (!joints[i].reactions) continue;
    const Wrench reaction = joint_reaction(i, at.q, system, Phi_q, lambda);
    append(row, reaction.force);
    append(row, reaction.torque);
  }
}

}  // namespace

Error unknown_column(const std::string& kind, const std::string& hint, std::string_view name,
                     std::span<const Column> columns) {
  const std::string word(name);
  std::vector<std::string> known;
  for (const Column& column : columns) known.push_back(column.name);
  const std::vector<std::string> similar = similar_names(word, known);
  return input_error(
      word, fmt::format("expected the name of an {}{} (the simulation lists its {} {}s), found '{}'{}", kind, hint,
                        columns.size(), kind, word, similar.empty() ? std::string() : "; " + did_you_mean(similar)));
}

std::vector<Column> acceleration_columns(const Model& model) {
  std::vector<Column> columns;
  for (const auto& body : model.bodies) {
    add_columns(columns, body.name, {"ax", "ay", "az"}, "_m_s2", "m/s^2", "acceleration of the origin in the world");
    add_columns(columns, body.name, {"alphax", "alphay", "alphaz"}, "_rad_s2", "rad/s^2",
                "angular acceleration in the world");
  }
  return columns;
}

void append_accelerations(const MotionState& at, System& system, std::vector<double>& row) {
  const VectorX& qdd = system.accelerations(at).qdd;
  for (Eigen::Index first = 0; first < at.q.size(); first += coordinates_per_body) {
    const Twist A_WB =
        acceleration_from_rates(at.q.segment<12>(first), at.qd.segment<12>(first), qdd.segment<12>(first));
    append(row, A_WB.v);
    append(row, A_WB.w);
  }
}

std::vector<Column> run_columns(const System& system) {
  const Model& model = system.model();
  std::vector<Column> columns = {{"time_s", "s", "simulated time"}};
  for (const auto& body : model.bodies) {
    add_columns(columns, body.name, {"x", "y", "z"}, "_m", "m", "origin of the body frame in the world");
    add_columns(columns, body.name, {"qw", "qx", "qy", "qz"}, "", "-", "orientation, unit quaternion");
    add_columns(columns, body.name, {"vx", "vy", "vz"}, "_m_s", "m/s", "velocity of the origin in the world");
    add_columns(columns, body.name, {"wx", "wy", "wz"}, "_rad_s", "rad/s", "angular velocity in the world");
  }
  add_columns(columns, "energy", {"kinetic", "potential", "dissipated", "external_work"}, "_J", "J",
              "energy balance; potential includes the energy stored in contacts");
  for (const auto& pair : model.pairs) {
    columns.push_back({pair.name + ".gap_m", "m", "smallest gap, negative in penetration"});
    columns.push_back({pair.name + ".indentation_m", "m", "penetration, 0 for positive gap"});
    columns.push_back({pair.name + ".gap_rate_m_s", "m/s", "rate of the gap, negative for approach"});
    add_columns(columns, pair.name, {"fx", "fy", "fz"}, "_N", "N", "contact force on the main body, in the world");
    add_columns(columns, pair.name, {"tx", "ty", "tz"}, "_Nm", "N m",
                "contact torque on the main body about its origin, in the world");
    for (const OutputName& output : output_names(hs::ResponseOutput::column)) {
      const char* where = output.is_number ? "" : " in the world; empty without contact";
      columns.push_back({pair.name + "." + output.name, output.unit, std::string(output.meaning) + where});
    }
  }
  for (const auto& joint : model.joints) {
    if (!joint.reactions) continue;
    add_columns(columns, joint.name, {"fx", "fy", "fz"}, "_N", "N",
                "force of the joint on its second body, in the world");
    add_columns(columns, joint.name, {"tx", "ty", "tz"}, "_Nm", "N m",
                "torque of the joint on its second body about the joint's point there, in the world");
  }
  for (const UnilateralConstraint* joint : system.unilaterals()) {
    columns.push_back(
        {joint->name() + ".gap_m", "m", "gap of the unilateral joint, 0 while closed; of a distance (d^2 - L^2) / 2L"});
    columns.push_back({joint->name() + ".force_N", "N", "compressive force of the unilateral joint, 0 while open"});
  }
  for (const auto& force : system.forces()) {
    const auto more = force->columns();
    columns.insert(columns.end(), more.begin(), more.end());
  }
  return columns;
}

std::vector<Column> region_columns(std::span<const PairDescription> pairs) {
  std::vector<Column> columns;
  for (const PairDescription& pair : pairs) {
    for (const std::string& name : pair.regions) {
      const std::string region = pair.name + "." + name;
      columns.push_back({region + ".force_N", "N", "normal contact force of the region: pressure times area"});
      columns.push_back({region + ".area_m2", "m^2", "contact area in the region"});
      columns.push_back({region + ".mean_pressure_Pa", "Pa", "force of the region over its contact area"});
      columns.push_back({region + ".peak_pressure_Pa", "Pa", "peak contact pressure in the region"});
      add_columns(columns, region, {"copx", "copy", "copz"}, "_m", "m",
                  "centre of pressure of the region in the world; empty without contact there");
    }
  }
  return columns;
}

void append_regions(const Model& model, std::span<const PairDescription> pairs, const ConstVector& q,
                    const CouplingScheme& scheme, std::span<const Response> responses, std::vector<double>& row) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].regions.empty()) continue;
    const Pose X_WA = main_pose(model.pairs[i], q);
    for (std::size_t r = 0; r < pairs[i].regions.size(); ++r) {
      const RegionLoad load = scheme.acts(i) ? responses[i].regions.at(r) : RegionLoad{};
      row.insert(row.end(), {load.force, load.area, load.mean_pressure(), load.peak_pressure});
      append(row, load.force > 0.0 ? X_WA * load.p_ACop : Vector3::Constant(none));
    }
  }
}

void write_gaps(const Model& model, std::span<const Response> responses, std::vector<double>& row) {
  for (std::size_t i = 0; i < responses.size(); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(first_pair_entry(model) + entries_per_pair * i);
    std::ranges::copy(gap_entries(responses[i]), row.begin() + first);
  }
}

double gap_in_row(const Model& model, std::size_t pair, std::span<const double> row) {
  return row[first_pair_entry(model) + entries_per_pair * pair];
}

void fill_row(const MotionState& at, const RowEnergies& energies, System& system, const CouplingScheme& scheme,
              std::span<const Response> responses, std::vector<double>& row) {
  row.clear();
  row.push_back(at.t);
  for (Eigen::Index first = 0; first < at.q.size(); first += coordinates_per_body) {
    append_body(row, at.q.segment<12>(first), at.qd.segment<12>(first));
  }
  row.push_back(system.kinetic_energy(at.qd));
  row.push_back(system.evaluate_energy(at).potential);
  row.push_back(energies.dissipated);
  row.push_back(energies.external_work);
  for (std::size_t i = 0; i < responses.size(); ++i) {
    append_pair(row, system.model().pairs[i], at.q, responses[i], scheme.acts(i));
  }
  if (has_joint_force_columns(system)) {
    const VectorX lambda = system.accelerations(at).lambda;
    append_reactions(row, at, lambda, system);
    append_unilateral(row, at.q, lambda, true, system);
  }
  system.append_force_values(at, row);
}

std::vector<double> row_change(const MotionState& at, BodyIndex body, const Wrench& force, bool accelerations,
                               System& system) {
  const auto first = coordinates_per_body * static_cast<Eigen::Index>(body);
  VectorX g = VectorX::Zero(system.n_q());
  g.segment<coordinates_per_body>(first) = generalized_force(at.q.segment<coordinates_per_body>(first), force);
  return row_change(at, std::move(g), accelerations, system);
}

std::vector<double> row_change(const MotionState& at, VectorX g, bool accelerations, System& system) {
  VectorX& qdd = g;
  const VectorX lambda = system.make_response(at.t, at.q, qdd);
  // Positions, velocities, energies, contacts.
  std::vector<double> row(first_pair_entry(system.model()) + entries_per_pair * system.model().pairs.size(), 0.0);
  if (has_joint_force_columns(system)) {
    append_reactions(row, at, lambda, system);
    append_unilateral(row, at.q, lambda, false, system);
  }
  for (const auto& element : system.forces()) row.resize(row.size() + element->columns().size(), 0.0);
  if (!accelerations) return row;
  const Vector12 at_rest = Vector12::Zero();  // the contribution of velocities does not change
  for (Eigen::Index i = 0; i < qdd.size(); i += coordinates_per_body) {
    const Twist A_WB = acceleration_from_rates(at.q.segment<12>(i), at_rest, qdd.segment<12>(i));
    append(row, A_WB.v);
    append(row, A_WB.w);
  }
  return row;
}

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
