/// Contact geometry of two rigid bodies: probes of one body, points or balls fixed on it, against the surface of the
/// other, crossing sharp edges of both, and rolling cylinders.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/rigid/faceted_body.hpp"
#include "fem_server/backends/rigid/mesh_minima.hpp"
#include "fem_server/backends/rigid/rolling_cylinder.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// Probes near the other surface at one pose: after a small motion no other probe is nearer, because a distance changes
/// by no more than the motion of the point.
struct ProbeCache {
  struct Entry {
    std::size_t probe = 0;
    double gap = 0.0;  ///< [m]
  };
  Pose X_AB;
  double margin = 0.0;                ///< [m] all other probes had larger gaps
  std::vector<Entry> of_A{}, of_B{};  ///< in search order
};

/// Contact points of two bodies at one pose, including points within the reach.
struct RigidPoints {
  std::vector<ContactPoint> points{};  ///< with gaps up to the requested reach, in the order of their features
  /// The point of these with the smallest gap, or the nearest one beyond the reach: a bound of the distance of the
  /// bodies.
  ContactPoint nearest{};
};

/// Made once per pair. Thread-safe.
class RigidGeometry {
 public:
  /// @throws Error{invalid_input} for a pair without probes or without a surface, and errors of reading
  RigidGeometry(const PairSpec& pair, const PrepareContext& context);

  /// Points with gaps up to `reach` [m].
  /// @param near  of another pose, or null: affects the time, not the result
  [[nodiscard]] RigidPoints points(const Pose& X_AB, double reach, const ProbeCache* near = nullptr) const;
  /// Probes with gaps up to `margin` [m].
  [[nodiscard]] ProbeCache cached_probes(const Pose& X_AB, double margin) const;
  /// [m] bound of the motion of all probes between both poses, relative to the other body.
  [[nodiscard]] double max_displacement(const Pose& X_AB, const Pose& Y_AB) const;

  /// [rad] angle between triangles that approximate a curve of the surface, 0 if there are none. @throws errors of
  /// reading
  [[nodiscard]] static double edge_rotation(const Surface& surface, const PrepareContext& context,
                                            const std::string& where);

  /// [m] largest edge of the bounding box of the smaller body.
  [[nodiscard]] double size() const { return size_; }

 private:
  /// Neighbouring probes, which are skipped together if they are far. The clusters of one side form a tree, each before
  /// its two halves.
  struct Cluster {
    std::vector<std::size_t> probes{};  ///< empty if it has halves
    Vector3 center = Vector3::Zero();   ///< [m] of a ball around the probes
    double radius = 0.0;                ///< [m]
    std::size_t next = 0;               ///< position after its halves and their descendants
  };
  struct Side {
    std::vector<Probe> probes;
    std::vector<Cluster> clusters;
    std::optional<RollingCylinder> cylinder;
    std::optional<SurfaceMesh> mesh;  ///< of shapes without a formula; only during construction
    bool convex = false;              ///< a polyhedron
    bool is_acute = false;            ///< at some edges the normals turn by more than 90 degrees
    std::vector<SharpEdge> edges;     ///< empty if the other side has no edges or cylinders for contact
    std::vector<Probe> edge_balls;    ///< around them
    std::vector<Cluster> edge_clusters;
    std::unique_ptr<SignedDistance> surface;  ///< null if unused
    /// Of a mesh that is not convex, below a ball or a cylinder; else null.
    std::unique_ptr<MeshMinima> minima{};
    std::unique_ptr<FacetedBody> faces;  ///< of a body with edges; null when the other has no sharp corners
  };
  /// Intermediate result of a search.
  struct SearchResult {
    std::vector<ContactPoint> points{};
    std::vector<ContactPoint> edge_candidates{};  ///< crossings with `is_from_cone`, and corners that rise
    /// Corners on or below a face whose body is tilted against it by up to `edge_tilt`.
    std::vector<ContactPoint> tilted{};
    struct Crossing {
      ContactPoint point{};
      bool is_from_cone = false;  ///< see EdgeCrossing
    };
    std::vector<Crossing> if_overlapping{};  ///< of convex bodies, with negative gaps
    ContactPoint nearest{};
  };
  [[nodiscard]] static Side side_of(const Surface& surface, const PrepareContext& context, const std::string& where);
  static void make_clusters(const std::vector<Probe>& probes, std::vector<std::size_t> members,
                            std::vector<Cluster>& clusters);
  /// [m] gap of one of the nearest probes: probes farther away are irrelevant.
  static double bound_on_gap(const Side& from, const Side& to, const Pose& X_to_from);
  void check_probe(const Side& from, std::size_t probe, const Side& to, const Pose& X_to_from, double least,
                   double reach, SearchResult& found) const;
  void add_at_faces(const Side& from, std::size_t probe, const Side& to, const Pose& X_to_from, const SurfacePoint& at,
                    double reach, SearchResult& found) const;
  static void keep_rising_corners(SearchResult& found);
  /// Further points of a ball that touches a mesh at several places. @param nearest  point already found
  static void add_ball_on_mesh(const Probe& ball, const Vector3& c, const MeshMinima& mesh, double reach, double margin,
                               const ContactPoint& nearest, std::vector<ContactPoint>& points);
  void find_edges();
  /// Edges of one side within `reach` of the surface of the other.
  [[nodiscard]] static std::vector<std::size_t> edges_near(const Side& from, const Side& to, const Pose& X_to_from,
                                                           double reach);
  void collect_crossings(const Pose& X_AB, double reach, SearchResult& found) const;
  void add_crossing(const EdgeCrossing& at, ContactPoint point, const Side& from, const Side& to, const Pose& X_from_to,
                    double reach, SearchResult& found) const;
  [[nodiscard]] bool are_apart(const ContactPoint& nearest, const Pose& X_AB) const;
  void add_overlap(const Pose& X_AB, SearchResult& found) const;
  [[nodiscard]] double depth_bound(std::span<const ContactPoint> points) const;
  void add_corners_beyond(const Side& from, const Side& to, const Pose& X_to_from, double depth,
                          std::vector<ContactPoint>& points) const;
  void collect_cylinder(const Side& from, const Side& to, const Pose& X_to_from, double reach,
                        SearchResult& found) const;
  static void add_points(std::span<const ContactPoint> points, double reach, SearchResult& found);
  void collect_cylinder_pair(const RollingCylinder& cylinder, const Pose& X_BA, double reach,
                             SearchResult& found) const;
  [[nodiscard]] static ContactPoint separation(const Side& from, const Side& to, const RollingCylinder& cylinder,
                                               const Pose& X_from_to, double reach);
  void collect_cylinder_on_edges(const Side& from, const Side& to, const RollingCylinder& cylinder,
                                 const Pose& X_from_to, double reach, std::vector<ContactPoint>& on_faces,
                                 SearchResult& found) const;
  void collect(const Side& from, const Side& to, const Pose& X_to_from, double reach, SearchResult& found) const;
  /// The same among cached probes after a motion of up to `moved`. @returns false when other probes may be relevant
  bool collect_near(const Side& from, std::span<const ProbeCache::Entry> near, double margin, double moved,
                    const Side& to, const Pose& X_to_from, double reach, SearchResult& found) const;
  void remove_redundant_points(SearchResult& found) const;
  static std::vector<ProbeCache::Entry> find_cached_probes(const Side& from, const Side& to, const Pose& X_to_from,
                                                           double margin);

  Side A_, B_;
  bool probes_of_A_ = false, probes_of_B_ = false;
  double size_ = 0.0;
  double margin_ = 0.0;  ///< [m] below which positions are equal: far above the rounding of poses, far below any
                         ///< modelled length
};

}  // namespace heelstrike::fem
