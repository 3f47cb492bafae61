/// Nodes of a deformable body against a rigid partner.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/pairing/contact_pairing.hpp"
#include "fem_server/contact_solver/pairing/solve_contact.hpp"
#include "fem_server/contact_solver/solver/committed_friction.hpp"

namespace heelstrike::fem {

namespace {

/// Residual gap of a deformed node, over the depth: the relative error of the force of the node is of this order. The
/// gap is a difference of coordinates, with a rounding error of 1e-13 of them at depths of a thousandth.
constexpr double projected_gap_tolerance = 1e-9;
/// Passes after which each node keeps its facet: a node on an edge of the partner may alternate between two.
constexpr int max_facet_iterations = 6;
constexpr int max_projections = 40;
/// Gap under load, over the depth, up to which the blocks of a node are cached with the committed state.
constexpr double cached_block_gap = 0.02;

class NodeToSurfacePairing final : public ContactPairing {
 public:
  using ContactPairing::ContactPairing;

  void detect(const CommittedContact& committed, const PairState& state, PairedContact& contact) const override {
    contact.body_compliance = &model_.compliance;
    const Gaps gaps = begin(committed, state, contact);
    if (!contact.touches()) return;
    check_depth(contact, model_.options, state);
    find_near(committed, state, gaps, contact);
    find_cached_blocks(committed, contact);
  }

  /// Gaps and normals of the near nodes at their deformed positions: the linearised gap (4) of the theory is exact
  /// for a plane only.
  bool follow(const CommittedContact& /*committed*/, const PairState& state, int pass,
              PairedContact& contact) const override {
    if (!model_.deformed_gap || contact.nodes.empty()) return false;
    const std::vector<Vector3> u = near_displacements(contact);
    std::vector<const ContactNodeState*> touching(u.size(), nullptr);
    for (std::size_t a = 0; a < contact.nodes.size(); ++a) touching[contact.contact_positions[a]] = &contact.nodes[a];
    std::vector<SurfacePoint> surface;
    double error = 0.0;  // [m] maximum gap of active nodes, and penetration of others, neglected by the solution
    for (std::size_t i = 0; i < u.size(); ++i) {
      surface.push_back(surface_in_A(*model_.partner, state.X_AB, contact.points[i] + u[i]));
      const double gap = surface.back().gap;
      error = std::max(error, touching[i] != nullptr ? std::abs(gap) : -gap);
    }
    const double allowed = projected_gap_tolerance * -contact.gap;
    if (error <= allowed) return false;
    if (pass == max_projections) {
      throw RecoverableError(fmt::format(
          "the gaps of {} contact nodes to the partner's triangles do not converge: after {} projections of "
          "the deformed nodes the maximum is {} m, tolerance {} m (overlap {} m, t = {} s); use a smaller "
          "step, or a partner with smaller triangles",
          contact.nodes.size(), pass, error, allowed, -contact.gap, state.t));
    }
    for (std::size_t i = 0; i < u.size(); ++i) {
      if (pass >= max_facet_iterations) surface[i].normal = contact.near.normals[i];
      surface[i].gap -= surface[i].normal.dot(u[i]);
      contact.near.gaps[i] = surface[i].gap;
      contact.near.normals[i] = surface[i].normal;
      // Start of the next pass.
      contact.near.force_before[i] = touching[i] != nullptr ? touching[i]->force() : Vector3(Vector3::Zero());
      contact.near.u_before[i] = u[i];
      contact.near.known[i] = true;
    }
    contact.surface = std::move(surface);
    return true;
  }

  [[nodiscard]] std::shared_ptr<const CommittedFriction> committed_friction(
      const CommittedContact& committed, const PairedContact& contact) const override {
    if (!contact.near.cached_blocks) return nullptr;
    const CandidateCache& cache = *committed.candidate_cache;
    return cache.friction([&]() -> std::shared_ptr<const CommittedFriction> {
      std::vector<CommittedContactNode> nodes;
      std::size_t n_active = 0;
      for (const std::uint32_t candidate : cache.block_nodes) {
        const SurfacePoint point = surface_in_A(*model_.partner, cache.X_AB, model_.points[candidate]);
        nodes.push_back({.axes = contact_axes(cache.X_AB.R, point.normal), .force = committed.find(candidate)->force});
        n_active += nodes.back().force.isZero(0.0) ? 0 : 1;
      }
      if (n_active == 0 || n_active > CommittedFriction::max_active) return nullptr;
      auto made = std::make_shared<const CommittedFriction>(*contact.near.cached_blocks, nodes);
      return made->valid() ? made : nullptr;
    });
  }

  [[nodiscard]] std::shared_ptr<const CandidateCache> make_candidate_cache(
      const CommittedContact& committed) const override {
    std::shared_ptr<CandidateCache> cache = find_cached_candidates(committed);
    if (!cache) return nullptr;
    for (const CommittedNode& node : committed.nodes) {
      const SurfacePoint point = surface_in_A(*model_.partner, *committed.X_AB, model_.points[node.node]);
      const bool close = point.gap + point.normal.dot(node.u) < cached_block_gap * cache->depth;
      if (close || node.loaded()) cache->block_nodes.push_back(node.node);
    }
    return cache;
  }

 private:
  /// The blocks cached with the committed state, if they contain the initial working set.
  void find_cached_blocks(const CommittedContact& committed, PairedContact& contact) const {
    if (committed.candidate_cache == nullptr || committed.candidate_cache->block_nodes.empty()) return;
    std::vector<std::uint32_t> positions;
    auto near = contact.near.nodes.begin();
    for (const std::uint32_t candidate : committed.candidate_cache->block_nodes) {
      near = std::lower_bound(near, contact.near.nodes.end(), candidate);
      if (near == contact.near.nodes.end() || *near != candidate) return;
      positions.push_back(static_cast<std::uint32_t>(near - contact.near.nodes.begin()));
    }
    if (!std::ranges::includes(positions, first_working_set(contact.near))) return;
    contact.near.kept = std::move(positions);
    contact.near.cached_blocks = committed.candidate_cache->blocks(model_.compliance);
  }
};

}  // namespace

std::unique_ptr<ContactPairing> node_to_surface_pairing(PairingModel model) {
  return std::make_unique<NodeToSurfacePairing>(std::move(model));
}

}  // namespace heelstrike::fem
