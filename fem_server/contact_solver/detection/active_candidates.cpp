#include "fem_server/contact_solver/detection/active_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heelstrike::fem {

void ActiveCandidates::add(std::uint32_t node, double gap, const Vector3& normal, const Vector3& force,
                           const std::optional<Vector3>& u) {
  nodes.push_back(node);
  gaps.push_back(gap);
  normals.push_back(normal);
  force_before.push_back(force);
  u_before.push_back(u.value_or(Vector3(Vector3::Zero())));
  known.push_back(u.has_value());
}

std::vector<std::uint32_t> ActiveCandidates::candidates(std::span<const std::uint32_t> positions) const {
  std::vector<std::uint32_t> result;
  for (const std::uint32_t i : positions) result.push_back(nodes[i]);
  return result;
}

bool ActiveCandidates::warm() const {
  return std::ranges::any_of(force_before, [](const Vector3& force) { return !force.isZero(0.0); });
}

double ActiveCandidates::deepest() const {
  double scale = 0.0;
  for (const double gap : gaps) scale = std::max(scale, -gap);
  return scale;
}

// A node that carries force usually continues to do so, and the committed displacement predicts new active nodes: with
// both, a warm evaluation needs one pass over its working set. Missing nodes are found outside it and added, so a poor
// prediction costs a second pass but does not change the result.
std::vector<std::uint32_t> first_working_set(const ActiveCandidates& near) {
  std::vector<std::uint32_t> positions;
  for (std::uint32_t i = 0; i < near.nodes.size(); ++i) {
    const double predicted = near.gaps[i] + (near.known[i] ? near.normals[i].dot(near.u_before[i]) : 0.0);
    if (!near.force_before[i].isZero(0.0) || predicted < 0.0) positions.push_back(i);
  }
  return positions;
}

NodeBlocks::NodeBlocks(const SurfaceCompliance& body, const ActiveCandidates& near,
                       std::span<const std::uint32_t> positions)
    : compliance_(&body) {
  // Kernels process one matrix: the cached blocks if they contain all nodes, otherwise those of the body. The numbers
  // are the same in the same order, and so are the bits of the results.
  numbers_.reserve(positions.size());
  if (near.cached_blocks != nullptr && std::ranges::includes(near.kept, positions)) {
    compliance_ = near.cached_blocks.get();
    std::uint32_t k = 0;
    for (const std::uint32_t i : positions) {
      while (near.kept[k] != i) ++k;
      numbers_.push_back(k);
    }
    return;
  }
  numbers_ = near.candidates(positions);
  if (body.compressed() == nullptr) return;
  copy_ = std::make_shared<const SurfaceCompliance>(copied_blocks(body, numbers_));
  compliance_ = copy_.get();
  std::iota(numbers_.begin(), numbers_.end(), 0U);
}

std::vector<std::uint32_t> NodeBlocks::numbers(std::span<const std::uint32_t> members) const {
  std::vector<std::uint32_t> result;
  result.reserve(members.size());
  for (const std::uint32_t a : members) result.push_back(numbers_[a]);
  return result;
}

LoadChange change_since_commit(const ActiveCandidates& near, std::span<const std::uint32_t> positions,
                               const Eigen::VectorXd& forces, const Eigen::VectorXd& u) {
  LoadChange change{.bounded = !near.compliance_changed};
  double crossed = 0.0;
  double before = 0.0;
  for (std::size_t a = 0; a < positions.size(); ++a) {
    const auto row = 3 * static_cast<Eigen::Index>(a);
    const std::uint32_t i = positions[a];
    // Without the previous displacement, df . C df cannot be determined from forces and displacements.
    change.bounded = change.bounded && (near.known[i] || forces.segment<3>(row).isZero(0.0));
    if (!near.known[i]) continue;
    crossed += forces.segment<3>(row).dot(near.u_before[i]);
    before += near.force_before[i].dot(near.u_before[i]);
  }
  if (!change.bounded) return change;
  if (before > 0.0) change.factor = crossed / before;
  for (std::size_t a = 0; a < positions.size(); ++a) {
    const auto row = 3 * static_cast<Eigen::Index>(a);
    const std::uint32_t i = positions[a];
    const Vector3 df = forces.segment<3>(row) - change.factor * near.force_before[i];
    if (!df.isZero(0.0)) change.work += df.dot(u.segment<3>(row) - change.factor * near.u_before[i]);
  }
  return change;
}

std::vector<std::uint32_t> open_outside(const SurfaceCompliance& compliance, const ActiveCandidates& near,
                                        std::span<const std::uint32_t> working, const LoadChange& change,
                                        double allowed) {
  // The work is a difference of nearly equal numbers: without a change, rounding may make it negative.
  const double size = std::sqrt(std::max(change.work, 0.0));
  std::vector<std::uint32_t> open;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < near.nodes.size(); ++i) {
    if (next < working.size() && working[next] == i) {
      ++next;
      continue;
    }
    if (change.bounded && near.known[i]) {
      const Vector3& n = near.normals[i];
      const double before = near.gaps[i] + change.factor * n.dot(near.u_before[i]);
      // Equation (8) of docs/theory/contact_fem.md: Cauchy-Schwarz in the energy norm. It needs only the node's own
      // block; the displacement itself would need the node's whole row of the compliance.
      const double reach = size * std::sqrt(n.dot(compliance.self(near.nodes[i]) * n));
      if (before - reach > -allowed) continue;
    }
    open.push_back(i);
  }
  return open;
}

std::vector<std::uint32_t> penetrating(const ActiveCandidates& near, const NodeMotion& motion, double allowed,
                                       double& deepest) {
  std::vector<std::uint32_t> found;
  deepest = 0.0;
  for (std::size_t k = 0; k < motion.positions.size(); ++k) {
    const std::uint32_t i = motion.positions[k];
    const double gamma = near.gaps[i] + near.normals[i].dot(motion.u.segment<3>(3 * static_cast<Eigen::Index>(k)));
    deepest = std::max(deepest, -gamma);
    if (gamma < -allowed) found.push_back(i);
  }
  return found;
}

SurfaceCompliance copied_blocks(const SurfaceCompliance& compliance, std::span<const std::uint32_t> candidates) {
  const std::size_t n = candidates.size();
  if (compliance.compressed() != nullptr) return {n, compliance.compressed()->blocks(candidates)};
  std::vector<double> blocks(9 * n * n);
  double* to = blocks.data();
  // Blocks of candidates with distant numbers are pages apart in the body's compliance; contiguous blocks are read at
  // streaming speed by every evaluation from this committed state.
  for (std::size_t j = 0; j < n; ++j) {
    const double* column = compliance.column(candidates[j]);
    for (std::size_t i = 0; i < n; ++i, to += 9) {
      std::copy_n(column + 9 * static_cast<std::size_t>(candidates[i]), 9, to);
    }
  }
  return {n, std::move(blocks)};
}

SurfaceCompliance diagonal_compliance(std::size_t n_nodes, double yield) {
  std::vector<double> blocks(9 * n_nodes * n_nodes, 0.0);
  for (std::size_t i = 0; i < n_nodes; ++i) {
    Eigen::Map<Matrix3>(blocks.data() + 9 * (i * n_nodes + i)) = yield * Matrix3::Identity();
  }
  return {n_nodes, std::move(blocks)};
}

Eigen::MatrixXd gathered(const SurfaceCompliance& compliance, std::span<const std::uint32_t> candidates) {
  const std::size_t n = candidates.size();
  if (compliance.compressed() != nullptr) return copied_blocks(compliance, candidates).dense();
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(3 * n), static_cast<Eigen::Index>(3 * n));
  for (std::size_t j = 0; j < n; ++j) {
    const double* column = compliance.column(candidates[j]);
    double* x = matrix.data() + 9 * n * j;
    double* y = x + 3 * n;
    double* z = y + 3 * n;
    for (std::size_t i = 0; i < n; ++i) {
      const double* block = column + 9 * static_cast<std::size_t>(candidates[i]);
      for (std::size_t k = 0; k < 3; ++k) {
        x[3 * i + k] = block[k];
        y[3 * i + k] = block[3 + k];
        z[3 * i + k] = block[6 + k];
      }
    }
  }
  return matrix;
}

CandidateBall ball_around(const std::vector<Vector3>& points) {
  if (points.empty()) return {};
  Vector3 low = points.front();
  Vector3 high = low;
  for (const Vector3& p : points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  CandidateBall ball{.center = 0.5 * (low + high)};
  for (const Vector3& p : points) ball.radius = std::max(ball.radius, (p - ball.center).norm());
  return ball;
}

GapBound gap_bound(const CandidateBall& ball, const SignedDistance& partner) {
  if (!partner.is_distance()) return {};
  const Vector3 normal = partner.half_space();
  return {.known = true, .p_C = ball.center, .reach = ball.radius, .normal = normal, .flat = normal != Vector3::Zero()};
}

bool covers_contact_candidates(const CandidateCache& candidate_cache, const CandidateBall& ball, const Pose& X_AB) {
  const Pose& before = candidate_cache.X_AB;
  const Vector3 moved = X_AB.R.transpose() * (ball.center - X_AB.p) - before.R.transpose() * (ball.center - before.p);
  // The gap of a point changes by no more than the point moves relative to B, and no point of the ball moves by more
  // than its centre plus the rotation times the radius; the Frobenius norm is an upper bound of the spectral norm.
  const double rounding = 1e-9 * ball.radius;
  const double motion = moved.norm() + (X_AB.R - before.R).norm() * ball.radius + rounding;
  // Once for the gap of the node, once for the depth up to which nodes count as near.
  return candidate_cache.depth + 2.0 * motion <= candidate_cache.reach;
}

std::shared_ptr<const SurfaceCompliance> CandidateCache::blocks(const SurfaceCompliance& compliance) const {
  std::call_once(copied_,
                 [&] { blocks_ = std::make_shared<const SurfaceCompliance>(copied_blocks(compliance, block_nodes)); });
  return blocks_;
}

std::shared_ptr<const CommittedFriction> CandidateCache::friction(
    const std::function<std::shared_ptr<const CommittedFriction>()>& make) const {
  std::call_once(factored_, [&] { friction_ = make(); });
  return friction_;
}

}  // namespace heelstrike::fem
