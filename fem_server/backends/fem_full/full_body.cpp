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
  rest_system_ = std::make_unique<BodySystem>(body(), parts_.support, graph);
  if (!parts_.laws.is_linear()) present_system_ = std::make_unique<BodySystem>(body(), parts_.support, graph);
  within_memory(parts_.memory_limit, memory_need(), full_order_task, [&] {
    tangent_ = linear_stiffness(body());
    check();
    rest_system_->analyse(tangent_);
    check_memory(parts_.memory_limit, memory_need(), full_order_task);
    if (!rest_system_->factorize(tangent_)) {
      throw input_error("support", "the stiffness matrix is singular: the clamped set leaves a motion free");
    }
  });
  check();
}

MemoryNeed FullBody::memory_need() const {
  return factorisation_memory(rest_system_->size(), present_system_ ? 2.0 : 1.0);
}

std::optional<FullBody::Step> FullBody::without_load(const Eigen::VectorXd& u, const BodyMemory& memory) {
  const BodyEquations equations = assemble_equations(body(), parts_.laws, u, tangent_, 0, memory);
  if (!equations.valid) return std::nullopt;
  return Step{.u = u + system().step(-equations.force, u), .energy = equations.energy};
}

Vector3 FullBody::mean(std::span<const WeightedNodes::Entry> weights, const Eigen::VectorXd& u) const {
  Vector3 sum = Vector3::Zero();
  for (const auto& [c, weight] : weights) sum += weight * u.segment<3>(3 * Eigen::Index{contact_nodes()[c]});
  return sum;
}

SurfaceCompliance FullBody::seen_from(const WeightedNodes& places, const Matrix3& R) {
  if (!present_) return weighted(parts_.compliance, places, R);
  const std::vector<std::uint32_t> used = places.used_nodes();
  if (!std::ranges::includes(seen_nodes_, used)) {
    std::vector<std::uint32_t> all;
    std::ranges::set_union(seen_nodes_, used, std::back_inserter(all));
    seen_nodes_ = std::move(all);
    std::vector<std::uint32_t> of_mesh;
    for (const std::uint32_t c : seen_nodes_) of_mesh.push_back(contact_nodes()[c]);
    seen_ = present_system_->compliance(of_mesh);
  }
  return weighted(seen_, places.among(seen_nodes_), R);
}

bool FullBody::take_matrix_at(const Eigen::VectorXd& u, const BodyMemory& memory) {
  if (!present_system_) return false;
  bool good = assemble_equations(body(), parts_.laws, u, tangent_, 0, memory).valid;
  // The first one takes the memory of the factor.
  telling_memory(parts_.memory_limit, memory_need(), full_order_task,
                 [&] { good = good && present_system_->factorize(tangent_); });
  seen_nodes_.clear();
  const bool changed = good || present_;
  present_ = good;
  return changed;
}

}  // namespace heelstrike::fem
