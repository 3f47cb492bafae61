/// Contact pressure from the forces on contact nodes.
///
/// A nodal force divided by the area that its node stands for scatters from node to node, because the compliance of a
/// node depends on the elements around it. The pressure is what is left of these quotients after five exchanges of
/// force with the neighbours that touch, along the edges of the mesh and by the consistent mass of the faces, and after
/// what they flattened to second order has been given back, by no node more than it has: no force is lost, none leaves
/// the touching nodes, none becomes tension, a uniform pressure stays as it is. Derivation and measured errors:
/// docs/theory/contact_fem.md, section 1.
///
/// Along the rim of a cut through the body the surface ends where nothing ends in reality: the force on a node there
/// stands for an area that belongs to the other part too, and a part that tips onto its rim meets the ground with an
/// edge. These nodes keep their force, but have no pressure of their own.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// A field on the faces that are loaded. One column per component of the forces it was made of.
struct RecoveredPressure {
  double area = 0.0;                 ///< [m^2] of the touching nodes
  std::vector<std::uint32_t> faces;  ///< loaded ones, ascending, as numbered by PressureRecovery::faces
  Eigen::MatrixXd at_faces;          ///< [Pa] their means: times areas of the straight faces they sum to the force
  /// [Pa] per vertex; linear in between; the largest is the peak pressure. On the rim of a cut the mean of the loaded
  /// neighbours that are not on it, farther out of those on it that have one, zero where the rim alone is loaded.
  Eigen::MatrixXd at_vertices;
  Eigen::MatrixXd at_contact_nodes;  ///< [Pa] per touching node
  Eigen::VectorXd areas;        ///< [m^2] per touching node
};

/// The faces that may touch, prepared once. Thread-safe.
class PressureRecovery {
 public:
  /// Recovers nothing: for contact nodes that are no nodes of a surface.
  PressureRecovery() = default;
  /// @param contact  nodes of this mesh with the faces around them
  /// @param rim      nodes of the mesh on a cut through the body, ascending
  PressureRecovery(const VolumeMesh& mesh, const ContactNodes& contact, std::span<const std::uint32_t> rim = {});

  [[nodiscard]] bool empty() const { return faces_.empty(); }
  /// Faces with a contact node, and those that share a vertex with one of them; ascending.
  [[nodiscard]] std::span<const ElementFace> faces() const { return element_faces_; }
  /// Node of the mesh at each vertex (corner of these faces).
  [[nodiscard]] std::span<const std::uint32_t> vertex_nodes() const { return vertex_nodes_; }
  /// [-] per contact node: how much of the area that it stands for lies on the chosen faces.
  /// @param chosen  per entry of faces()
  [[nodiscard]] std::vector<double> shares_of(const std::vector<bool>& chosen) const;
  /// Per vertex: whether one of the chosen faces has it.
  [[nodiscard]] std::vector<bool> vertices_of(const std::vector<bool>& chosen) const;

  /// A face is loaded when one of its nodes touches and it looks against the partner there, within 60 degrees: at the
  /// edge of a block the faces beside the contact bear nothing. Of a node that no face is loaded by, all are.
  /// @param touching  positions among the contact nodes, ascending
  /// @param normals   [-] out of the partner, one per touching node
  /// @param forces    [N] one row per touching node; the first column is the normal force, >= 0
  /// @param covered   [m^2] > 0, per touching node, what of its area meets the partner; empty = that of its loaded
  /// faces
  [[nodiscard]] RecoveredPressure recover(std::span<const std::uint32_t> touching, std::span<const Vector3> normals,
                                          const Eigen::MatrixXd& forces, std::span<const double> covered = {}) const;

 private:
  struct Face {
    std::array<std::uint32_t, 3> nodes{};        ///< contact nodes, `none` where the mesh has no candidate
    std::array<std::uint32_t, 3> vertices{};     ///< corners; of six-node faces nodes[k] lies behind vertices[k]
    double area = 0.0;                           ///< [m^2] of the triangle of the corners
    std::array<double, 3> parts{3.0, 3.0, 3.0};  ///< [-] area over what of it each node stands for
    /// [-] area over integral N_i N_j, of nodes (0, 1), (1, 2), (2, 0)
    std::array<double, 3> couplings{12.0, 12.0, 12.0};
    Vector3 normal = Vector3::Zero();  ///< [-] outward
  };
  /// Sets parts and couplings of a part of a side with four corners.
  static void distribute_side(const VolumeMesh& mesh, ElementFace face, Face& own);
  /// Faces around nodes or vertices: entry i owns [first[i], first[i + 1]).
  struct Around {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> faces;
    [[nodiscard]] std::span<const std::uint32_t> operator[](std::uint32_t i) const {
      return std::span(faces).subspan(first[i], first[i + 1] - first[i]);
    }
  };
  [[nodiscard]] static Around around(std::size_t n, std::span<const Face> faces,
                                     std::array<std::uint32_t, 3> Face::*members);
  [[nodiscard]] std::vector<std::uint32_t> loaded_faces(std::span<const std::uint32_t> touching,
                                                        std::span<const Vector3> normals) const;
  /// An edge of a loaded face between two touching nodes, numbered among these.
  struct Edge {
    std::uint32_t i = 0, j = 0;
    double weight = 0.0;  ///< [m^2] integral N_i N_j over the face
  };
  /// @param place  of a contact node among the touching ones
  [[nodiscard]] std::vector<Edge> edges_between(std::span<const std::uint32_t> loaded,
                                                std::span<const std::uint32_t> place) const;
  /// One exchange with the neighbours.
  /// @param areas      [m^2] one per touching node
  /// @param pressures  [Pa] one row per touching node
  static void exchange(std::span<const Edge> edges, const Eigen::VectorXd& areas, Eigen::MatrixXd& pressures);
  /// Gives back what the exchanges flattened.
  static void sharpen(std::span<const Edge> edges, const Eigen::VectorXd& areas, Eigen::MatrixXd& pressures);
  [[nodiscard]] Eigen::MatrixXd at_vertices(std::span<const std::uint32_t> loaded, std::span<const std::uint32_t> place,
                                            const Eigen::MatrixXd& at_contact_nodes) const;
  /// Replaces the values on the rim of a cut.
  void extrapolate_to_rim(std::span<const std::uint32_t> loaded, Eigen::MatrixXd& at_vertices) const;

  bool middles_ = false;  ///< contact nodes are the middles of edges
  std::vector<Face> faces_;
  std::vector<ElementFace> element_faces_;
  std::vector<std::uint32_t> vertex_nodes_;
  std::vector<bool> on_rim_;      ///< per contact node
  std::vector<bool> rim_vertex_;  ///< per vertex; empty without a cut
  std::size_t n_nodes_ = 0;
  Around around_node_, around_vertex_;
};

}  // namespace heelstrike::fem
