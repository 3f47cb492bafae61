/// Where two rigid bodies touch: probes of one, points or balls that are fixed on it, against the surface of the other,
/// sharp edges of both that cross, and cylinders, which roll.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "scenario/surfaces/signed_distance.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/rigid/faceted_body.hpp"
#include "fem_server/backends/rigid/rigid_edges.hpp"
#include "fem_server/backends/rigid/rolling_cylinder.hpp"

namespace heelstrike::fem {

/// Probes that were near the other surface at one pose: while the bodies have hardly moved since, no other comes near,
/// for a distance changes by no more than the way.
struct ProbeCache {
  struct Entry {
    std::size_t probe = 0;
    double gap = 0.0;  ///< [m]
  };
  Pose X_AB;
  double margin = 0.0;                ///< [m] all others had larger gaps
  std::vector<Entry> of_A{}, of_B{};  ///< in the order in which a search comes to them
};

/// Points at which two bodies touch at one pose, or may soon.
struct RigidPoints {
  std::vector<ContactPoint> points{};  ///< with gaps up to the reach that was asked for, in the order of their features
  /// The one with the smallest gap of these, or what is nearest without them: a bound of the distance of the bodies.
  ContactPoint nearest{};
};

/// Made once per pair. Thread-safe.
class RigidGeometry {
 public:
  /// @throws Error{invalid_input} for surfaces that have no probes and no surface to meet, and what reading throws
  RigidGeometry(const PairSpec& pair, const PrepareContext& context);

  /// Points with gaps up to `reach` [m].
  /// @param near  of another pose, or null: changes the time, not the answer
  [[nodiscard]] RigidPoints points(const Pose& X_AB, double reach, const ProbeCache* near = nullptr) const;
  /// Probes with gaps up to `margin` [m].
  [[nodiscard]] ProbeCache cached_probes(const Pose& X_AB, double margin) const;
  /// [m] that no probe has moved farther between both poses, seen from the other body.
  [[nodiscard]] double way(const Pose& X_AB, const Pose& Y_AB) const;

  /// [rad] by which triangles turn that stand for a curve of the surface, 0 where none do. @throws what reading throws
  [[nodiscard]] static double edge_rotation(const Surface& surface, const PrepareContext& context,
                                         const std::string& where);

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
    std::optional<RollingCylinder> cylinder;
    std::optional<SurfaceMesh> mesh;  ///< of shapes without a formula; until all is made
    bool convex = false;              ///< a polyhedron
    std::vector<SharpEdge> edges;     ///< empty where nothing of the other side meets them
    std::vector<Probe> edge_balls;    ///< around them
    std::vector<Cluster> edge_clusters;
    std::unique_ptr<SignedDistance> surface;  ///< null when nobody asks for it
    std::unique_ptr<FacetedBody> faces;       ///< of a body with edges; null when the other has no sharp corners
  };
  /// What a search has found so far.
  struct Found {
    std::vector<ContactPoint> points{};
    std::vector<ContactPoint> edge_candidates{};  ///< crossings with `tips`
    ContactPoint nearest{};
  };
  [[nodiscard]] static Side side_of(const Surface& surface, const PrepareContext& context, const std::string& where);
  static void make_clusters(const std::vector<Probe>& probes, std::vector<std::size_t> members,
                            std::vector<Cluster>& clusters);
  /// [m] gap of a probe that is among the nearest ones: none that is farther matters.
  static double bound_on_gap(const Side& from, const Side& to, const Pose& X_to_from);
  void check_probe(const Side& from, std::size_t probe, const Side& to, const Pose& X_to_from, double least, double reach,
               Found& found) const;
  void add_at_faces(const Side& from, std::size_t probe, const Side& to, const Pose& X_to_from, const SurfacePoint& at,
                    double reach, std::vector<ContactPoint>& points) const;
  void find_edges();
  /// Edges of one side that are not farther from the surface of the other than `reach`.
  [[nodiscard]] static std::vector<std::size_t> edges_near(const Side& from, const Side& to, const Pose& X_to_from,
                                                           double reach);
  void collect_crossings(const Pose& X_AB, double reach, Found& found) const;
  void collect_cylinder(const Side& from, const Side& to, const Pose& X_to_from, double reach, Found& found) const;
  void collect(const Side& from, const Side& to, const Pose& X_to_from, double reach, Found& found) const;
  /// The same among probes that were near before they moved by up to `moved`. @returns false when others may matter
  bool collect_near(const Side& from, std::span<const ProbeCache::Entry> near, double margin, double moved,
                    const Side& to, const Pose& X_to_from, double reach, Found& found) const;
  void remove_redundant_points(Found& found) const;
  static std::vector<ProbeCache::Entry> find_cached_probes(const Side& from, const Side& to, const Pose& X_to_from,
                                                       double margin);

  Side A_, B_;
  bool probes_of_A_ = false, probes_of_B_ = false;
  double size_ = 0.0;
  double margin_ = 0.0;  ///< [m] below which places are one: far above the rounding of poses, far below what is meant
};

}  // namespace heelstrike::fem
