/// Interface of two deformable bodies: a mortar method [puso2004, popp2010].
///
/// The pressure on the surface of A is interpolated by one function psi_i per contact node, hat functions on its
/// triangles. With g(x) the distance of a point x of A to the plane of the opposite triangle of B, and n that
/// triangle's normal, the gap of node i is the mean
///
///     gamma_i = integral psi_i [ g + n . (u_A - u_B) ] / | integral psi_i n |
///
/// over the part of A's triangles that faces B: the triangles of both bodies are clipped against each other, and the
/// integrals of the polygons are exact. The same integrals distribute the force of node i over the nodes of either
/// body. A uniform pressure therefore loads both bodies by their consistent nodal forces for any meshes, also at edges
/// where a body ends. Only triangles that face each other are paired: the sides of a block are excluded. Theory and
/// limits: docs/theory/contact_fem.md, section 10.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fem_server/contact_solver/contact_response.hpp"
#include "fem_server/contact_solver/deformable_partner.hpp"

namespace heelstrike::fem {

/// The function of one contact node of A, at one pose.
struct InterfacePoint {
  std::uint32_t node = 0;                  ///< contact node of A
  double gap = 0.0;                        ///< [m] gamma of the undeformed bodies
  Vector3 normal = Vector3::Zero();        ///< [-] out of B, in A: mean of n, unit length
  Vector3 point = Vector3::Zero();         ///< [m] in A: mean of x
  double area = 0.0;                       ///< [m^2] integral of psi > 0: force = pressure times area
  std::vector<WeightedNodes::Entry> on_A;  ///< means of the displacements, in contact nodes of either body
  std::vector<WeightedNodes::Entry> on_B;
  bool outside = false;  ///< it faces a part of B with an unknown displacement
};

/// The function of a contact node of A; null = none. @param points  nodes ascending
[[nodiscard]] const InterfacePoint* find_interface_point(std::span<const InterfacePoint> points, std::uint32_t node);

/// Displacement for central differences of an interface, over the depth. The truncation error is of second order in it,
/// the rounding error is 1e-16 of the coordinates over the displacement.
constexpr double interface_difference_step = 1e-4;

/// What an interface has in common with those at poses nearby.
struct InterfaceTopology {
  struct Opposing {
    std::uint32_t of_A = 0, of_B = 0;  ///< triangles; those of A in groups
    bool in_functions = false;         ///< else only in the direction of projection
  };
  std::vector<Opposing> opposing;
  /// Node of a small function, and node of the function that it was merged with; in sequence.
  std::vector<std::array<std::uint32_t, 2>> merged;
};

struct Interface {
  /// [m] of single points, on the polygons; infinite if no part of the bodies faces the other nearby.
  double min_gap = 0.0;
  Vector3 closest = Vector3::Zero();         ///< [m] point of A with that gap, in A
  Vector3 closest_normal = Vector3::Zero();  ///< [-] out of B, in A
  double seen = 0.0;                         ///< [m] maximum searched penetration of triangles
  std::vector<InterfacePoint> places;        ///< nodes ascending; none unless the smallest gap is negative
  InterfaceTopology topology;                ///< of these
};

/// Thread-safe.
class BodyInterface {
 public:
  /// @param main         contact faces of A
  /// @param n_nodes      contact nodes of A
  /// @param max_penetration  [m] maximum overlap that is solved
  BodyInterface(ContactSurface main, std::size_t n_nodes, std::shared_ptr<const DeformablePartner> partner,
                double max_penetration);

  /// @param node_gaps  [m] distance of each contact node of A to B, negative inside
  /// @param shift      [m] tangential distance of B's points from those points of A that are opposite in the deformed
  ///                   bodies; in A
  [[nodiscard]] Interface at(const Pose& X_AB, std::span<const double> node_gaps,
                             const Vector3& shift = Vector3::Zero()) const;

  /// The functions at a pose so near to that of `topology` that differences are derivatives.
  [[nodiscard]] std::vector<InterfacePoint> at_nearby(const Pose& X_AB, const InterfaceTopology& topology,
                                                      const Vector3& shift) const;

  /// For displaced surfaces, whose overlap may have nearly vanished: all functions up to some gap.
  /// @param undeformed  of the undeformed surfaces: defines the search depth of triangles, and its depth is the gap
  [[nodiscard]] std::vector<InterfacePoint> displace_points(const Pose& X_AB, const Interface& undeformed) const;

 private:
  struct Facet;
  struct Pair;
  [[nodiscard]] Facet facet_of(std::uint32_t triangle, const Pose& X_BA, const Vector3& shift_B) const;
  [[nodiscard]] std::vector<Facet> facets_near(const Pose& X_BA, std::span<const double> node_gaps,
                                               const Vector3& shift_B) const;
  /// @param topology  null = small functions are merged by their areas, else as there
  [[nodiscard]] std::vector<InterfacePoint> interface_points_in_A(std::span<const Facet> facets, std::span<Pair> pairs,
                                                                  double depth, const Pose& X_AB,
                                                                  const InterfaceTopology* topology,
                                                                  InterfaceTopology& found) const;
  /// [m] maximum depth of searched pairs
  [[nodiscard]] double find_facet_penetration(std::span<const Facet> facets, std::span<const double> node_gaps) const;
  [[nodiscard]] std::vector<Pair> pairs_of(std::span<const Facet> facets, double depth) const;
  /// Projects along the mean of the normals of both bodies, one direction for each triangle of A: the contact of two
  /// equal bodies is then mirror-symmetric.
  void restrict_facets(std::span<Pair> pairs, std::vector<Facet>& facets) const;
  void find_closest(std::span<const Facet> facets, std::span<const Pair> pairs, const Pose& X_AB,
                    Interface& interface) const;
  [[nodiscard]] std::vector<InterfacePoint> integrate(std::span<const Facet> facets, std::span<Pair> pairs,
                                                      double depth, const InterfaceTopology* topology,
                                                      InterfaceTopology& found) const;

  ContactSurface main_;
  std::shared_ptr<const DeformablePartner> partner_;
  double max_penetration_;          // [m]
  std::vector<double> full_areas_;  // [m^2] integral of psi over all of main_, per contact node
  std::vector<Vector3> normals_B_;  // [-] of the partner's triangles, in B
};

/// The undeformed interface with its gap and closest point; no places without contact.
/// @param node_gaps  [m] as BodyInterface::at
/// @param size       [m] of A
/// @param solved     with gap and closest point of the nodes
/// @throws RecoverableError deeper than the limit, or if no contact faces face each other
[[nodiscard]] Interface begin_between_bodies(const BodyInterface& interface, std::span<const double> node_gaps,
                                             const PairState& state, const ContactOptions& options, double size,
                                             ContactSolution& solved);

/// @throws Error{invalid_input}  the bodies touch at this point [m] of A, where the displacement of B is unknown
[[noreturn]] void reject_unknown_point(const Vector3& p_AQ);

/// Functions that may be in contact, for the pressure and area of their forces.
struct InterfaceContact {
  const WeightedNodes* on_A = nullptr;           ///< nodes of A of each function
  const WeightedNodes* on_B = nullptr;           ///< nodes of B
  std::span<const double> areas{};               ///< [m^2] of each
  std::span<const std::uint32_t> nodes{};        ///< contact node of A of each
  std::span<const Vector3> normals{};            ///< [-] of each, out of B, in A
  std::span<const std::uint32_t> touching{};     ///< active functions, as positions among them, ascending
  const PressureRecovery* recovery_A = nullptr;  ///< of the contact nodes of A
  const PressureRecovery* recovery_B = nullptr;  ///< of those of B
  Matrix3 R_AB = Matrix3::Identity();
  double partner_work = 0.0;  ///< [-] part of the work of the contact forces that deforms B, between 0 and 1
};

/// Pressure at the contact nodes of A, from the elastic bodies in proportion to their parts in the deformation: the
/// mean of the pressure at the nodes of B where B is as compliant as A or more, that at the nodes of A beside a rigid
/// B. See docs/theory/contact_fem.md, section 10.
/// @param forces  [N] one row per active function; the first column is the normal force, >= 0
[[nodiscard]] NodalPressure interface_pressure(const InterfaceContact& contact, const Eigen::MatrixXd& forces);

/// As solved_response(), with area and peak pressure of the whole and of the regions from interface_pressure().
/// @param regions  of the contact nodes of A
[[nodiscard]] Response interface_response(const ContactSolution& solved, const InterfaceContact& contact,
                                          const ContactOptions& options, std::span<const ContactRegion> regions,
                                          const std::optional<double>& approach_velocity, const PairState& state);

}  // namespace heelstrike::fem
