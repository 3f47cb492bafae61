/// The nodes that a contact solve looks at, and where their blocks of the compliance are read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// Nodes that may touch, ascending, with gap [m] and normal of the undeformed body at each.
struct ActiveCandidates {
  std::vector<std::uint32_t> nodes;  ///< candidate numbers
  std::vector<double> gaps;
  std::vector<Vector3> normals;
  /// [N] forces of the last commit, zero where there was none, and
  std::vector<Vector3> force_before;
  /// [m] the displacements they cause; meaningful where `known`.
  std::vector<Vector3> u_before;
  std::vector<bool> known;
  /// [N/m^2] Courant-Beltrami penalty of each node, force = penalty * penetration^2; empty = no penetration at all.
  std::vector<double> penalty{};
  /// The compliance is not that of the last commit: displacements of then bound nothing.
  bool compliance_changed = false;
  /// Blocks that the committed state keeps, and their nodes as positions in this list, ascending; null = none.
  std::shared_ptr<const SurfaceCompliance> cached_blocks{};
  std::vector<std::uint32_t> kept{};

  /// Candidate numbers at some positions.
  [[nodiscard]] std::vector<std::uint32_t> candidates(std::span<const std::uint32_t> positions) const;
  /// A committed state says where to start.
  [[nodiscard]] bool warm() const;
  /// [m] largest penetration of the undeformed body, >= 0.
  [[nodiscard]] double deepest() const;
};

/// First guess of the working set: nodes with a committed force, and those that would penetrate if the displacement
/// were the committed one; without any committed force all that penetrate undeformed. Positions in `near`.
[[nodiscard]] std::vector<std::uint32_t> first_working_set(const ActiveCandidates& near);

/// Blocks among some near nodes: those that the committed state keeps when it has them all, which lie together in
/// memory, else those of the body. Refers to both.
class NodeBlocks {
 public:
  NodeBlocks(const SurfaceCompliance& body, const ActiveCandidates& near, std::span<const std::uint32_t> positions);

  [[nodiscard]] const SurfaceCompliance& compliance() const { return *compliance_; }
  /// Of the given positions, in their order, within compliance().
  [[nodiscard]] const std::vector<std::uint32_t>& numbers() const { return numbers_; }
  /// Of some of them. @param members  indices into numbers()
  [[nodiscard]] std::vector<std::uint32_t> numbers(std::span<const std::uint32_t> members) const;

 private:
  const SurfaceCompliance* compliance_;
  std::vector<std::uint32_t> numbers_;
};

/// How far the forces are from a multiple of the committed ones, f = factor f_before + df.
struct LoadChange {
  bool bounded = false;  ///< it limits how far nodes have moved since then
  double factor = 1.0;   ///< that of the least work
  double work = 0.0;     ///< [J] df . C df
};

/// @param positions  in `near`: all that carry force now or did at the commit
/// @param forces     [N] three rows per position, and
/// @param u          [m] the displacements they cause
[[nodiscard]] LoadChange change_since_commit(const ActiveCandidates& near, std::span<const std::uint32_t> positions,
                                             const Eigen::VectorXd& forces, const Eigen::VectorXd& u);

/// Near nodes outside the working set of which only their rows of the compliance can tell whether they penetrate.
///
/// Most are settled without: C is positive semidefinite, so a change of the forces by df moves node i along n by at
/// most sqrt(n . C_ii n) sqrt(df . C df). What forces grow in proportion moves it in proportion.
/// @param working  positions in `near`, ascending
/// @param allowed  [m] penetration that does not count
[[nodiscard]] std::vector<std::uint32_t> open_outside(const SurfaceCompliance& compliance, const ActiveCandidates& near,
                                                      std::span<const std::uint32_t> working, const LoadChange& change,
                                                      double allowed);

/// Displacements [m] of some near nodes.
struct NodeMotion {
  std::vector<std::uint32_t> positions;  ///< in `near`
  NodeFields<1> u;
};

/// Positions that penetrate by more than `allowed` [m]. @param deepest [m] out: largest penetration found, >= 0
[[nodiscard]] std::vector<std::uint32_t> penetrating(const ActiveCandidates& near, const NodeMotion& motion, double allowed,
                                                     double& deepest);

/// The blocks among some candidates, with a memory of their own.
[[nodiscard]] SurfaceCompliance copied_blocks(const SurfaceCompliance& compliance,
                                              std::span<const std::uint32_t> candidates);

/// Of nodes that do not act on one another. @param yield  [m/N] of each, alike in all directions
[[nodiscard]] SurfaceCompliance diagonal_compliance(std::size_t n_nodes, double yield);

/// The blocks among some candidates as one dense matrix, 3 n square, in A's axes.
[[nodiscard]] Eigen::MatrixXd gathered(const SurfaceCompliance& compliance, std::span<const std::uint32_t> candidates);

}  // namespace heelstrike::fem
