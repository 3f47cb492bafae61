/// Recovery of contact pressure from contact node forces.
///
/// A nodal force divided by its tributary area scatters from node to node, because the compliance of a node depends on
/// the adjacent elements. The quotients are smoothed by five exchanges of force between neighbouring contact nodes
/// along mesh edges, weighted by the consistent mass of the faces. A sharpening step then restores the second-order
/// loss, limited at each node to the available force. Force is conserved, stays on the contact nodes and never becomes
/// tension; a uniform pressure is preserved. Derivation and measured errors: docs/theory/contact_fem.md, section 1.
///
/// The rim of a cut through the body is an artificial edge of the surface: a nodal force there also represents area of
/// the removed part, and a part that tips onto its rim makes edge contact. These nodes keep their force but are
/// assigned no pressure of their own.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// Field on the loaded faces, one column per component of the input forces.
struct RecoveredPressure {
  double area = 0.0;                 ///< [m^2] of the nodes in contact
  std::vector<std::uint32_t> faces;  ///< loaded ones, ascending, as numbered by PressureRecovery::faces
  Eigen::MatrixXd at_faces;          ///< [Pa] face means; times the straight face areas they sum to the force
  /// [Pa] per vertex, linear in between; the maximum is the peak pressure. On the rim of a cut: the mean of the loaded
  /// neighbours off the rim, failing that of rim neighbours that have a value, zero where only the rim is loaded.
  Eigen::MatrixXd at_vertices;
  Eigen::MatrixXd at_contact_nodes;  ///< [Pa] per node in contact
  Eigen::VectorXd areas;             ///< [m^2] per node in contact
};

/// Pressures at contact nodes.
struct NodalPressure {
  std::vector<std::uint32_t> nodes;  ///< positions among the contact nodes, ascending
  std::vector<Vector3> normals;      ///< [-] outward normals of the partner
  Eigen::MatrixXd values;            ///< [Pa] one row per node; the first column is the normal pressure, >= 0
  std::vector<double> covered;       ///< [m^2] > 0: area covered by the partner

  /// [Pa] normal pressure at all contact nodes.
  [[nodiscard]] std::vector<double> at_all(std::size_t n_nodes) const;
};

/// Candidate faces, prepared once. Thread-safe.
class PressureRecovery {
 public:
  /// Recovers nothing, for contact nodes that are not surface nodes.
  PressureRecovery() = default;
  /// @param contact  nodes of this mesh with their adjacent faces
  /// @param rim      nodes of the mesh on a cut through the body, ascending
  PressureRecovery(const VolumeMesh& mesh, const ContactNodes& contact, std::span<const std::uint32_t> rim = {});

  [[nodiscard]] bool empty() const { return faces_.empty(); }
  [[nodiscard]] std::size_t n_nodes() const { return n_nodes_; }  ///< contact nodes
  /// Faces with a contact node and faces that share a vertex with one of them; ascending.
  [[nodiscard]] std::span<const ElementFace> faces() const { return element_faces_; }
  /// Node of the mesh at each vertex (corner of these faces).
  [[nodiscard]] std::span<const std::uint32_t> vertex_nodes() const { return vertex_nodes_; }
  /// [-] per contact node: fraction of its tributary area on the chosen faces.
  /// @param chosen  per entry of faces()
  [[nodiscard]] std::vector<double> shares_of(const std::vector<bool>& chosen) const;
  /// Per vertex: whether it belongs to a chosen face.
  [[nodiscard]] std::vector<bool> vertices_of(const std::vector<bool>& chosen) const;

  /// A face is loaded when one of its nodes is in contact and the face opposes the partner there within 60 degrees: at
  /// the edge of a block the lateral faces carry no load. If this excludes all faces of a node, all of them are loaded.
  /// @param touching  positions among the contact nodes, ascending
  /// @param normals   [-] outward normals of the partner, one per node in contact
  /// @param forces    [N] one row per node in contact; the first column is the normal force, >= 0
  /// @param covered   [m^2] > 0, per node in contact, its area covered by the partner; empty = that of its loaded faces
  [[nodiscard]] RecoveredPressure recover(std::span<const std::uint32_t> touching, std::span<const Vector3> normals,
                                          const Eigen::MatrixXd& forces, std::span<const double> covered = {}) const;
  /// The field with these values at the contact nodes.
  [[nodiscard]] RecoveredPressure interpolate(const NodalPressure& pressure) const;

 private:
  struct Face {
    std::array<std::uint32_t, 3> nodes{};        ///< contact nodes, `none` where the mesh has no candidate
    std::array<std::uint32_t, 3> vertices{};     ///< corners; for six-node faces nodes[k] follows vertices[k]
    double area = 0.0;                           ///< [m^2] of the triangle of the corners
    std::array<double, 3> parts{3.0, 3.0, 3.0};  ///< [-] face area over tributary area of each node
    /// [-] area over integral N_i N_j, of nodes (0, 1), (1, 2), (2, 0)
    std::array<double, 3> couplings{12.0, 12.0, 12.0};
    Vector3 normal = Vector3::Zero();  ///< [-] outward
  };
  /// Sets parts and couplings of a part of a quadrilateral side.
  static void distribute_side(const VolumeMesh& mesh, ElementFace face, Face& own);
  /// Faces adjacent to nodes or vertices: entry i has [first[i], first[i + 1]).
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
  /// Edge of a loaded face between two nodes in contact, by their positions among these.
  struct Edge {
    std::uint32_t i = 0, j = 0;
    double weight = 0.0;  ///< [m^2] integral N_i N_j over the face
  };
  /// Nodes in contact, on their loaded faces.
  struct Loaded {
    std::vector<std::uint32_t> place;  ///< per contact node: its position among those in contact, or `none`
    Eigen::VectorXd share;             ///< [-] per node in contact: part of its faces that the partner covers
  };
  /// Fills faces, areas and area of `result`.
  [[nodiscard]] Loaded find_loaded(std::span<const std::uint32_t> touching, std::span<const Vector3> normals,
                                   std::span<const double> covered, RecoveredPressure& result) const;
  /// Fills the values on faces and vertices of `result` from those at the contact nodes.
  void interpolate(const Loaded& loaded, RecoveredPressure& result) const;
  /// @param place  position of a contact node among those in contact
  [[nodiscard]] std::vector<Edge> edges_between(std::span<const std::uint32_t> loaded,
                                                std::span<const std::uint32_t> place) const;
  /// One exchange of force between neighbours.
  /// @param areas      [m^2] one per node in contact
  /// @param pressures  [Pa] one row per node in contact
  static void exchange(std::span<const Edge> edges, const Eigen::VectorXd& areas, Eigen::MatrixXd& pressures);
  /// Restores the second-order loss of the exchanges.
  static void sharpen(std::span<const Edge> edges, const Eigen::VectorXd& areas, Eigen::MatrixXd& pressures);
  [[nodiscard]] Eigen::MatrixXd at_vertices(std::span<const std::uint32_t> loaded, std::span<const std::uint32_t> place,
                                            const Eigen::MatrixXd& at_contact_nodes) const;
  /// Extrapolates the values to the rim of a cut. Loaded vertices of the rim without loaded neighbours have the mean of
  /// the contact. @pre a vertex is on the rim
  void extrapolate_to_rim(std::span<const std::uint32_t> loaded, const Eigen::RowVectorXd& mean,
                          Eigen::MatrixXd& at_vertices) const;

  bool middles_ = false;  ///< contact nodes are mid-side nodes
  std::vector<Face> faces_;
  std::vector<ElementFace> element_faces_;
  std::vector<std::uint32_t> vertex_nodes_;
  std::vector<bool> on_rim_;      ///< per contact node
  std::vector<bool> rim_vertex_;  ///< per vertex; empty without a cut
  std::size_t n_nodes_ = 0;
  Around around_node_, around_vertex_;
};

}  // namespace heelstrike::fem
