/// Springs of one surface against another: the active springs at a pose and their forces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/bed_integral.hpp"
#include "fem_server/backends/elastic_foundation/rim_load.hpp"
#include "fem_server/backends/elastic_foundation/spring_kinematics.hpp"
#include "fem_server/backends/elastic_foundation/surface_grid.hpp"

namespace heelstrike::fem {

struct BedOptions {
  bool by_ray = true;  ///< compression along the spring's normal, else to the nearest point
  ForceDirection direction = ForceDirection::energy;
  double target_thickness = 0.0;  ///< [m] layer of T; 0 = T is rigid, or its layer has a varying thickness
  bool lumped = false;            ///< both layers form one, of the sum of their thicknesses
  double search_distance = 0.0;   ///< [m] > 0: maximum depth behind an open surface at which a spring is in contact
  bool thin_target = false;       ///< T is thinner than the layers somewhere: springs can pass through it
  bool rates = false;             ///< the compression rate is differentiated by the pose
  bool planes = false;            ///< the planes over triangles are reported
  std::vector<std::uint32_t> target_pieces{};  ///< connected piece, from 0, of each of T's triangles; empty = one piece
  SurfaceMesh sharp_faces{};                   ///< of T, at sharp edges, which may press C between its springs
  std::string where;                           ///< "contact.NAME", for messages
};

/// An active spring, or one at a corner or the centre of a loaded triangle.
struct ActiveSpring {
  explicit ActiveSpring(std::uint32_t s) : spring(s) {}
  SpringKinematics motion;
  double force = 0.0;  ///< [N] elastic: dE / dd, which may be < 0 at vertices of a rim
  std::uint32_t spring;
  std::uint32_t bent = 0;       ///< in BedState::dwrench, if slopes are requested and it is not flat
  bool flat = false;            ///< SpringContact::flat, if slopes are requested
  bool is_outside_rim = false;  ///< its ray misses T, and motion.d is minus the distance to T
  bool is_overhanging =
      false;  ///< its ray misses T, and motion.d is that to the extension of a face of T, at any depth
  /// T is at the spring and compresses it.
  [[nodiscard]] bool is_loaded() const { return motion.d > 0.0 && !is_overhanging; }
  bool is_shortened = false;  ///< its ray is shortened
  double cosine = 1.0;        ///< [-] SpringContact::cosine
};

/// Derivatives of an active spring by the pose.
struct SpringDerivatives {
  explicit SpringDerivatives(const Vector6& of_d) : dd(of_d) {}
  Vector6 dd;                        ///< derivative of the compression
  Vector6 dforce = Vector6::Zero();  ///< and of the force
};

/// T's layer under a spring, if its thickness varies.
struct ActiveLayer {
  LayerMotion motion{};
  double slope = 0.0;                ///< [N] dE / dh of the bed's energy
  Vector6 dslope = Vector6::Zero();  ///< its derivative by the pose
};

/// Load of a triangle.
struct ActiveFace {
  std::uint32_t triangle = 0;
  double pressure = 0.0;                   ///< [Pa] elastic, mean over the whole triangle
  double area = 0.0;                       ///< [m^2] loaded part
  std::array<std::uint32_t, 4> springs{};  ///< of corners and centre, in BedState::springs; or the only one
};

/// The plane of depths over a triangle (cubature_weights): the relation of its three corners to the four springs, and
/// their forces.
struct ActivePlane {
  std::array<std::uint32_t, 4> springs{};  ///< in BedState::springs
  std::array<double, 4> shares{};          ///< [-] fractions of their compressions that give those of corners and
                                           ///< centre
  double centre_weight = 0.0;              ///< [-] of plane_of
  Vector3 forces = Vector3::Zero();        ///< [N] >= 0
  std::array<Vector6, 3> dforces{};        ///< d forces / d X, if slopes are requested
};

/// The bed at one pose.
struct BedState {
  std::vector<ActiveSpring> springs{};
  std::vector<SpringDerivatives> slopes{};  ///< of each; empty = not requested
  std::vector<Matrix6> dwrench{};           ///< d wrench / d X of those that are not flat, in order
  std::vector<Matrix6> drate{};             ///< of each: d rate / d X; empty = not requested
  std::vector<ActiveLayer> layers{};        ///< of each; empty = T's layer has a uniform thickness
  std::vector<Matrix6> ddh{};               ///< of each: d (d h / d X) / d X; empty = not requested
  std::vector<ActiveFace> faces{};
  std::vector<ActivePlane> planes{};      ///< of each face; empty = springs in the centres, or not requested
  Vector6 rim_wrench = Vector6::Zero();   ///< [N m, N] on C about T's origin where T ends over triangles (RimLoad), in
                                          ///< addition to the forces of the springs
  Matrix6 rim_dwrench = Matrix6::Zero();  ///< by the pose
  double rim_peak = 0.0;                  ///< [Pa] elastic pressure at the edges of T, which lie between springs
  /// Of loads between springs: the deepest point, the sum of the forces [N], and that of points times forces [N m].
  SpringKinematics between_deepest{Vector6::Zero(), Vector6::Zero(), 0.0};
  double between_force = 0.0;
  Vector3 between_moment = Vector3::Zero();
  double energy = 0.0;             ///< [J]
  double area = 0.0;               ///< [m^2]
  double deepest = 0.0;            ///< [m] largest compression; <= 0 = no contact
  std::size_t deepest_spring = 0;  ///< in `springs`
  std::size_t compressed = 0;      ///< springs with d > 0
};

/// [-] Factor of dissipation on the force of a face. @param dissipation  [s/m] c >= 0 of the factor 1 + c dd/dt
[[nodiscard]] double face_factor(const BedState& bed, std::size_t face, double dissipation, const Vector6& V_CT);

/// The nearest spring of separated surfaces.
struct NearestSpring {
  std::uint32_t spring = 0;
  SpringKinematics motion{};
};

/// Overlap of the surfaces between springs.
struct UndetectedPenetration {
  double depth;    ///< [m]
  Vector3 point;   ///< [m] in C
  double spacing;  ///< [m] from the centre of that triangle to its corners
};

/// Thread-safe. Poses are those of T in C. Search results of the last poses accelerate the next evaluations and do not
/// change their bits.
class SpringBed {
 public:
  /// @param layer  of T, instead of the uniform thickness; empty = uniform
  SpringBed(CastingSurface casting, std::unique_ptr<TargetSurface> target, const BedLaw& law, BedOptions options,
            std::optional<TargetLayer> layer = std::nullopt);
  ~SpringBed();
  SpringBed(SpringBed&& other) noexcept;
  SpringBed& operator=(SpringBed&&) = delete;
  SpringBed(const SpringBed&) = delete;
  SpringBed& operator=(const SpringBed&) = delete;

  /// @param tangents  false: derivatives of the wrenches are not requested
  /// @throws RecoverableError if the layers are fully compressed, if no pressure balances them, if a connected piece of
  ///         one surface and one of the other face the same way, or if springs have passed through T
  [[nodiscard]] BedState at(const Pose& X_CT, bool tangents = true) const;
  /// @pre no spring is compressed
  [[nodiscard]] NearestSpring nearest(const Pose& X_CT) const;
  /// A point at which T is deeper than `min_penetration` [m] between springs, if one is found: this detects parts of T
  /// that are smaller than the spacing of the springs.
  /// @pre no spring is compressed
  [[nodiscard]] std::optional<UndetectedPenetration> find_undetected_penetration(const Pose& X_CT,
                                                                                 double min_penetration) const;
  /// Pressure [Pa] of the elastic bed at one active spring of a state, with d > 0.
  [[nodiscard]] double pressure(const BedState& state, std::size_t i) const {
    const ActiveSpring& loaded = state.springs[i];
    const double own = casting_.springs()[loaded.spring].thickness;
    return law_.pressure(loaded.motion.d, layers(own, target_thickness_of(state, i)));
  }
  /// [m] gap of T from the base of a spring, at that pose; < 0 behind its surface.
  [[nodiscard]] double gap(std::uint32_t spring, const Pose& X_CT) const;
  /// [m] thickness of T's layer at the point of T nearest to a spring at that pose.
  [[nodiscard]] double target_thickness(std::uint32_t spring, const Pose& X_CT) const;

  [[nodiscard]] const CastingSurface& casting() const { return casting_; }
  [[nodiscard]] const BedOptions& options() const { return options_; }

 private:
  struct Search;
  struct PieceOrientation;
  struct CommittedState;
  class SearchStateCache;
  /// [m] thickness of the casting body's and of T's layer in the order of the law.
  [[nodiscard]] std::array<double, 2> layers(double own_thickness, double target_thickness) const {
    if (options_.lumped) return {own_thickness + target_thickness, 0.0};
    return {own_thickness, target_thickness};
  }
  /// Index of T's layer.
  [[nodiscard]] std::size_t target_layer() const { return options_.lumped ? 0 : 1; }
  /// For the pieces that contain a spring and a triangle of T.
  [[nodiscard]] PieceOrientation& facing(Search& search, std::uint32_t spring, std::uint32_t triangle) const;
  [[nodiscard]] double target_thickness_of(const BedState& state, std::size_t i) const {
    return state.layers.empty() ? options_.target_thickness : state.layers[i].motion.h;
  }
  /// Calls evaluate_contact(group) for the leaves that can_skip(group) does not exclude.
  template <class CanSkip, class Visit>
  void visit_groups(const CanSkip& can_skip, const Visit& evaluate_contact) const;
  void find_compressed(Search& search) const;
  void find_over_plane(Search& search, const PlaneSurface& plane) const;
  void project_spring(Search& search, std::uint32_t spring, const Vector3& q) const;
  void project_springs(Search& search, const SpringGroup& group) const;
  [[nodiscard]] double clearance_around(Search& search, const Vector3& p_T) const;
  void evaluate_contact(Search& search, std::uint32_t spring, const TargetPoint& nearest) const;
  [[nodiscard]] std::optional<UndetectedPenetration> find_penetration_between(Search& search, std::uint32_t triangle,
                                                                              double min_penetration) const;
  [[nodiscard]] bool find_local_crossing(Search& search, std::uint32_t spring, const Vector3& q,
                                         LocalCrossing& target_point) const;
  [[nodiscard]] const SpringContact* over_plane(Search& search, std::uint32_t spring) const;
  [[nodiscard]] double clearance_of(const TargetPoint& around) const;
  void place(Search& search, std::uint32_t spring, const SpringContact& spring_contact) const;
  void set_derivatives(Search& search, ActiveSpring& loaded, const SpringContact& spring_contact) const;
  void place_layer(Search& search, std::uint32_t spring, const SpringContact& spring_contact) const;
  void add(Search& search, std::uint32_t spring, const SpringContact& spring_contact) const;
  void add_active(Search& search, std::uint32_t spring, const SpringContact& spring_contact) const;
  void add_steep(Search& search) const;
  /// Where T ends over a triangle, its faces are extended, and the triangle has a RimLoad.
  [[nodiscard]] bool extends_faces() const {
    return options_.by_ray && !layer_ && casting_.places() == SpringPlaces::vertices && target_->has_flat_faces();
  }
  [[nodiscard]] const SpringContact& along_normal(Search& search, std::uint32_t spring,
                                                  const LocalCrossing& crossing) const;
  [[nodiscard]] SpringContact along_whole_ray(const TargetPoint& target_point) const;
  [[nodiscard]] SpringContact along_ray(const Spring& s, const TargetPoint& target_point, TargetPoint shortest) const;
  [[nodiscard]] SpringContact on_flat_face(const Spring& s, const TargetPoint& target_point) const;
  [[nodiscard]] bool is_pressed_along(const Search& search, const Spring& s, const TargetPoint& target_point,
                                      const TargetPoint& nearest) const;
  [[nodiscard]] std::optional<SpringContact> find_spring_contact(const Search& search, const Spring& spring,
                                                                 const TargetPoint& nearest) const;
  [[nodiscard]] std::optional<SpringContact> project_beyond_rim(const Search& search, const Spring& s,
                                                                const Spring& behind) const;
  [[nodiscard]] bool project_at_rim(Search& search, std::uint32_t spring, std::uint32_t behind) const;
  void load_centres(BedState& state) const;
  struct TriangleDepths;
  [[nodiscard]] bool ends_before_neighbour(const ActiveSpring& deepest, const ActiveSpring& beside) const;
  [[nodiscard]] bool find_spring_positions(Search& search, std::uint32_t triangle,
                                           std::array<std::uint32_t, 4>& places) const;
  void load_triangles(Search& search) const;
  void load_triangle(Search& search, std::uint32_t triangle) const;
  void load_steep(Search& search, std::uint32_t triangle) const;
  struct RimDepths;
  [[nodiscard]] RimDepths rim_depths(const Search& search, const TriangleDepths& four, const Vector3& d) const;
  void add_rim(BedState& state, const RimLoad& rim) const;
  [[nodiscard]] RimLoad rim_load(const Search& search, std::uint32_t triangle, const RimDepths* opposing,
                                 bool own_planes = false) const;
  /// Sharp edges of T press triangles between their springs, which are then loaded by T's faces.
  [[nodiscard]] bool loads_between_springs() const {
    return sharp_faces_ != nullptr && extends_faces() && options_.direction == ForceDirection::energy;
  }
  [[nodiscard]] bool is_across_edge(const BedState& state, const std::array<std::uint32_t, 4>& places) const;
  [[nodiscard]] bool is_pressed_by(const Search& search, const Spring& s, const Vector3& face_normal) const;
  [[nodiscard]] bool is_near_edge(const Search& search, std::uint32_t triangle) const;
  void load_between_springs(Search& search) const;
  void load_layers(Search& search, const ActiveFace& face, const TriangleDepths& four,
                   const TriangleThickness& by) const;
  /// @param depth  [m] BedLaw::depth_in_layer
  void check_depth(std::uint32_t spring, double depth, double target_thickness) const {
    if (depth >= law_.thickness(layers(casting_.springs()[spring].thickness, target_thickness)))
      too_deep(spring, depth, target_thickness);
  }
  [[noreturn]] void too_deep(std::uint32_t spring, double depth, double target_thickness) const;
  [[noreturn]] void check_reach(std::uint32_t spring, double d) const;
  void check_orientation(const Search& search) const;
  void check_passage(Search& search) const;
  void check_other_side(const Spring& s, const Vector3& q, const Vector3& away) const;
  [[nodiscard]] bool body_ends(std::uint32_t spring, double distance) const;
  /// Evaluates the law for a triangle of C. @throws RecoverableError as the law, with the location
  template <class Evaluate>
  [[nodiscard]] auto evaluate_law_at(std::uint32_t triangle, const Evaluate& evaluate) const {
    try {
      return evaluate();
    } catch (const RecoverableError& e) {
      rethrow_at_triangle(triangle, e);
    }
  }
  [[noreturn]] void rethrow_at_triangle(std::uint32_t triangle, const RecoverableError& why) const;

  CastingSurface casting_;
  std::vector<std::uint32_t> pieces_;  ///< connected piece of C's surface below each spring
  std::uint32_t n_pieces_ = 1;
  std::uint32_t n_target_pieces_ = 1;
  std::unique_ptr<TargetSurface> target_;
  BedLaw law_;
  BedOptions options_;
  std::optional<TargetLayer> layer_;
  double max_layers_ = 0.0;                       ///< [m] maximum thickness of all layers
  std::unique_ptr<TriangleSurface> own_surface_;  ///< C's triangles; null = T is a plane
  std::unique_ptr<TriangleSurface> sharp_faces_;  ///< of T; null = none, or T is open
  ClearanceGrid clearance_;
  std::unique_ptr<SearchStateCache> search_states_;
};

}  // namespace heelstrike::fem
