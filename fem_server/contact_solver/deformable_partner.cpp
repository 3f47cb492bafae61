#include "fem_server/contact_solver/deformable_partner.hpp"

#include <algorithm>
#include <utility>

namespace heelstrike::fem {

namespace {

/// Tolerance of weights for points on an edge of a triangle.
constexpr double weight_rounding = 1e-9;

}  // namespace

DeformablePartner::DeformablePartner(ContactSurface surface, SurfaceCompliance compliance)
    : surface_(std::move(surface)), tree_(surface_.mesh), compliance_(std::move(compliance)) {}

PartnerPoints DeformablePartner::weights_at(const Pose& X_AB, std::span<const Vector3> p_AQs) const {
  const Pose X_BA = X_AB.inverse();
  PartnerPoints places;
  std::vector<WeightedNodes::Entry> entries;
  for (const Vector3& p_AQ : p_AQs) {
    const ClosestPoint found = tree_.closest(X_BA * p_AQ);
    const Triangle& corners = surface_.mesh.triangles[found.triangle];
    const Vector3 cross = triangle_cross(surface_.mesh, found.triangle);
    Vector3 weights;
    for (std::size_t k = 0; k < 3; ++k) {
      const Vector3& p = surface_.mesh.vertices[corners[(k + 1) % 3]];
      const Vector3& q = surface_.mesh.vertices[corners[(k + 2) % 3]];
      const double value = (p - found.point).cross(q - found.point).dot(cross) / cross.squaredNorm();
      weights[static_cast<Eigen::Index>(k)] = value > weight_rounding ? std::min(value, 1.0) : 0.0;
    }
    entries.clear();
    places.outside.push_back(add_weights(surface_.triangles[found.triangle], weights, entries) > 0.0);
    merge_entries(entries);
    places.nodes.add_place(entries);
  }
  return places;
}

double add_weights(const ContactTriangle& triangle, const Vector3& weights,
                   std::vector<WeightedNodes::Entry>& entries) {
  const Eigen::Vector4d of_nodes = triangle.displacements.transpose() * weights;
  double unknown = 0.0;
  for (std::size_t k = 0; k < 3; ++k) {
    if (triangle.unknown[k]) unknown += weights[static_cast<Eigen::Index>(k)];
  }
  for (std::size_t k = 0; k < triangle.nodes.size(); ++k) {
    const double share = of_nodes[static_cast<Eigen::Index>(k)];
    if (triangle.nodes[k] != no_contact_node && share != 0.0) entries.emplace_back(triangle.nodes[k], share);
  }
  return unknown;
}

void merge_entries(std::vector<WeightedNodes::Entry>& entries) {
  // Sums for one node in the order of addition: the bits are the same everywhere.
  std::ranges::stable_sort(entries, {}, &WeightedNodes::Entry::first);
  std::size_t n = 0;
  for (const WeightedNodes::Entry& entry : entries) {
    if (n > 0 && entries[n - 1].first == entry.first) {
      entries[n - 1].second += entry.second;
    } else {
      entries[n++] = entry;
    }
  }
  entries.resize(n);
}

}  // namespace heelstrike::fem
