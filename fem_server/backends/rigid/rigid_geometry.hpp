/// Where two rigid bodies touch: probes of one, points or balls that are fixed on it, against the surface of the other,
/// and sharp edges of both that cross.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/surfaces/signed_distance.hpp"
#include "fem_server/backends/backend.hpp"
#include "fem_server/backends/rigid/rigid_edges.hpp"

namespace heelstrike::fem {

/// A ball that belongs to a body; of radius zero a corner, a vertex of a mesh or a point.
struct Probe {
  Vector3 center = Vector3::Zero();  ///< [m] in the frame of its body
  double radius = 0.0;               ///< [m] >= 0
};

/// Probes that were near the other surface at one pose: while the bodies have hardly moved since, no other comes near,
/// for a distance changes by no more than the way.
struct NearProbes {
  struct Entry {
    std::size_t probe = 0;
    double gap = 0.0;  ///< [m]
  };
  Pose X_AB;
  double margin = 0.0;                ///< [m] all others had larger gaps
  std::vector<Entry> of_A{}, of_B{};  ///< in the order in which a search comes to them
};

/// Made once per pair. Thread-safe.
class RigidGeometry {
 public:
  /// @throws Error{invalid_input} for surfaces that have no probes and no surface to meet, and what reading throws
  RigidGeometry(const PairSpec& pair, const PrepareContext& context);

  /// All points with gaps up to `reach` [m], and the nearest one in any case, in the order of their features.
  /// @param near  of another pose, or null: changes the time, not the answer
  [[nodiscard]] std::vector<ContactPoint> points(const Pose& X_AB, double reach,
                                                 const NearProbes* near = nullptr) const;
  /// Probes with gaps up to `margin` [m].
  [[nodiscard]] NearProbes near_probes(const Pose& X_AB, double margin) const;
  /// [m] that no probe has moved farther between both poses, seen from the other body.
  [[nodiscard]] double way(const Pose& X_AB, const Pose& Y_AB) const;

  /// [m] largest edge of a box around the smaller body.
  [[nodiscard]] double size() const { return size_; }

 private:
  /// Neighbouring probes, which are passed over together where they are far. Clusters of one side are a tree, each
  /// before its two halves.
  struct Cluster {
    std::vector<std::size_t> probes{};  ///< empty where it has halves
    Vector3 center = Vector3::Zero();   ///< [m] of a ball around them
    double radius = 0.0;                ///< [m]
    std::size_t next = 0;               ///< position behind its halves and theirs
  };
  struct Side {
    std::vector<Probe> probes;
    std::vector<Cluster> clusters;
    std::vector<SharpEdge> edges;   ///< empty where the other side has none, or one side has no surface
    std::vector<Probe> edge_balls;  ///< around them
    std::vector<Cluster> edge_clusters;
    std::unique_ptr<SignedDistance> surface;  ///< null when nobody asks for it
  };
  static void make_clusters(const std::vector<Probe>& probes, std::vector<std::size_t> members,
                            std::vector<Cluster>& clusters);
  /// [m] gap of a probe that is among the nearest ones: none that is farther matters.
  static double bound_on_gap(const Side& from, const Side& to, const Pose& X_to_from);
  static void look_at(const Side& from, std::size_t probe, const Side& to, const Pose& X_to_from, double least,
                      double reach, std::vector<ContactPoint>& found, ContactPoint& nearest);
  void take_edges(const PairSpec& pair, const PrepareContext& context);
  /// Edges of one side that are not farther from the surface of the other than `reach`.
  [[nodiscard]] static std::vector<std::size_t> edges_near(const Side& from, const Side& to, const Pose& X_to_from,
                                                           double reach);
  void collect_crossings(const Pose& X_AB, double reach, std::vector<ContactPoint>& found, ContactPoint& nearest) const;
  static void collect(const Side& from, const Side& to, const Pose& X_to_from, double reach,
                      std::vector<ContactPoint>& found, ContactPoint& nearest);
  /// The same among probes that were near before they moved by up to `moved`. @returns false when others may matter
  static bool collect_near(const Side& from, std::span<const NearProbes::Entry> near, double margin, double moved,
                           const Side& to, const Pose& X_to_from, double reach, std::vector<ContactPoint>& found,
                           ContactPoint& nearest);
  static std::vector<NearProbes::Entry> near_probes_of(const Side& from, const Side& to, const Pose& X_to_from,
                                                       double margin);

  Side A_, B_;
  bool probes_of_A_ = false, probes_of_B_ = false;
  double size_ = 0.0;
};

}  // namespace heelstrike::fem
