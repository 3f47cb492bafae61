#include "fem_server/backends/fem_full/full_body.hpp"

#include <algorithm>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

FullBody::FullBody(FullBodyParts parts, const std::stop_token& stop) : parts_(std::move(parts)) {
  const auto check = [&] {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "fem_full: preparation stopped on request");
  };
  const NodeGraph graph = node_graph(body());
  initial_system_ = std::make_unique<BodySystem>(body(), parts_.support, graph);
  if (!parts_.laws.is_linear()) current_system_ = std::make_unique<BodySystem>(body(), parts_.support, graph);
  within_memory(parts_.max_memory, memory_need(), full_order_task, [&] {
    tangent_ = linear_stiffness(body());
    check();
    initial_system_->analyse(tangent_);
    check_memory(parts_.max_memory, memory_need(), full_order_task);
    if (!initial_system_->factorize(tangent_)) {
      throw input_error("support", "the stiffness matrix is singular: the clamped set leaves a rigid motion free");
    }
  });
  check();
}

MemoryNeed FullBody::memory_need() const {
  return factorisation_memory(initial_system_->size(), current_system_ ? 2.0 : 1.0);
}

std::optional<FullBody::Step> FullBody::solve_unloaded(const Eigen::VectorXd& u, const BodyHistoryVariables& memory) {
  const BodyEquations equations = assemble_equations(body(), parts_.laws, u, tangent_, 0, memory);
  if (!equations.valid) return std::nullopt;
  return Step{.u = u + system().step(-equations.force, u), .energy = equations.energy};
}

Vector3 FullBody::mean(std::span<const WeightedNodes::Entry> weights, const Eigen::VectorXd& u) const {
  Vector3 sum = Vector3::Zero();
  for (const auto& [c, weight] : weights) sum += weight * u.segment<3>(3 * Eigen::Index{contact_nodes()[c]});
  return sum;
}

SurfaceCompliance FullBody::compliance_in_frame(const WeightedNodes& places, const Matrix3& R) {
  if (!is_current_) return weighted(parts_.compliance, places, R);
  const std::vector<std::uint32_t> used = places.used_nodes();
  if (!std::ranges::includes(compliance_nodes_, used)) {
    std::vector<std::uint32_t> all;
    std::ranges::set_union(compliance_nodes_, used, std::back_inserter(all));
    compliance_nodes_ = std::move(all);
    std::vector<std::uint32_t> of_mesh;
    for (const std::uint32_t c : compliance_nodes_) of_mesh.push_back(contact_nodes()[c]);
    contact_compliance_ = current_system_->compliance(of_mesh);
  }
  return weighted(contact_compliance_, places.among(compliance_nodes_), R);
}

bool FullBody::assemble_matrix_at(const Eigen::VectorXd& u, const BodyHistoryVariables& memory) {
  if (!current_system_) return false;
  bool good = assemble_equations(body(), parts_.laws, u, tangent_, 0, memory).valid;
  // The first factorisation allocates the memory of the factor.
  with_memory_report(parts_.max_memory, memory_need(), full_order_task,
                     [&] { good = good && current_system_->factorize(tangent_); });
  compliance_nodes_.clear();
  const bool changed = good || is_current_;
  is_current_ = good;
  return changed;
}

}  // namespace heelstrike::fem
