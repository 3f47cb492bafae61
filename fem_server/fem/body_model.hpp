/// A deformable body: mesh, materials, and the derived matrices and surface quantities.
///
/// Degrees of freedom: dof 3 n + k is the displacement [m] of node n in direction k of the body frame A.
#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/contact/surface.hpp"
#include "fem_server/fem/cell_kernels.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/element_library.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

using SparseMatrix = Eigen::SparseMatrix<double, Eigen::ColMajor, std::int64_t>;

/// Mesh with one material per element. Element integrals are isoparametric.
class BodyModel {
 public:
  /// @param materials  the last one whose set contains an element applies; an empty set name means all elements
  /// @throws Error{invalid_input} for a missing or empty set, an element without material, an inverted or degenerate
  ///         element (with its number and position)
  BodyModel(VolumeMesh mesh, std::span<const Material> materials, PressureKind pressure = PressureKind::pointwise);

  /// Submodel of some elements with their materials, without named sets.
  /// @param elements  ascending
  /// @param nodes     nodes of these elements in this body, ascending: node i of the part is nodes[i]
  [[nodiscard]] BodyModel part(std::span<const std::uint32_t> elements, std::vector<std::uint32_t>& nodes) const;

  /// Mesh without named sets, materials and pressures, for another process of the same program.
  [[nodiscard]] std::string bytes() const;
  [[nodiscard]] static BodyModel from_bytes(std::string_view bytes);

  [[nodiscard]] const VolumeMesh& mesh() const { return mesh_; }
  [[nodiscard]] const ReferenceElement& reference() const { return reference_; }
  [[nodiscard]] const LameConstants& material(std::size_t element) const { return constants_[material_of_[element]]; }
  [[nodiscard]] std::size_t n_materials() const { return constants_.size(); }
  /// Index of the element's material in the list passed to the constructor.
  [[nodiscard]] std::size_t material_index(std::size_t element) const { return material_of_[element]; }
  /// First material in that list with the moduli and law of the element's material: such materials share pressures.
  [[nodiscard]] std::uint32_t first_element_like(std::size_t element) const {
    return first_element_like_[material_of_[element]];
  }
  [[nodiscard]] const ElementKind& element() const { return element_with(mesh_.nodes_per_element, pressures_.kind()); }
  [[nodiscard]] const PressureSpace& pressures() const { return pressures_; }
  /// [m^3] volume of a pressure unknown: the integral of its shape function.
  [[nodiscard]] double pressure_volume(std::size_t pressure) const { return pressure_volumes_[pressure]; }
  [[nodiscard]] double pressure_lambda(std::size_t pressure) const {
    return material(pressures_.elements(pressure).front()).lambda;
  }
  /// [-] shape function of the pressure `k` of an element at a point of the stiffness rule.
  [[nodiscard]] double pressure_value(std::size_t k, std::size_t point) const {
    return fem::pressure_value(reference_, pressures_.kind(), k, point);
  }
  [[nodiscard]] std::size_t n_dofs() const { return 3 * mesh_.nodes.size(); }

  /// [m] node positions of an element.
  [[nodiscard]] CellNodes places(std::size_t element) const;
  /// Values of a field (n_dofs) at the nodes of an element.
  [[nodiscard]] CellNodes of_nodes(std::size_t element, const Eigen::VectorXd& field) const;
  [[nodiscard]] QuadraturePoint point_geometry(const ShapeTable& table, std::size_t element, std::size_t point) const {
    return fem::point_geometry(table, places(element), point);
  }

  /// The elements as deal.II cells, created on first use; copies share them. Thread-safe.
  /// @throws Error{invalid_input} for adjacent elements that do not share their common nodes
  [[nodiscard]] const BodyCells& cells() const;

 private:
  BodyModel() = default;
  void assign_materials(std::span<const Material> materials);
  void check_elements() const;
  void add_pressures(PressureKind kind);

  VolumeMesh mesh_;
  ReferenceElement reference_;
  std::vector<LameConstants> constants_;
  std::vector<std::uint32_t> first_element_like_;  ///< per material
  std::vector<std::uint32_t> material_of_;
  PressureSpace pressures_;
  std::vector<double> pressure_volumes_;
  struct Cells {
    std::once_flag made;
    std::unique_ptr<const BodyCells> cells;
  };
  std::shared_ptr<Cells> cells_ = std::make_shared<Cells>();
};

/// [-] volume change of an element's material at the displacement gradient G. Called concurrently.
using DilatationLaw = std::function<double(std::size_t element, const Matrix3& G)>;

/// Mean dilatation theta_a [-] of each pressure of a mixed body; empty for other bodies. Not finite where the law is
/// undefined.
/// @param u  [m] displacement, n_dofs. @param n_threads  as in BodyCells::sum
[[nodiscard]] std::vector<double> mean_dilatations(const BodyModel& body, const Eigen::VectorXd& u,
                                                   const DilatationLaw& dilatation, unsigned n_threads = 0);

/// [-] volume change in the law of a mixed body at a point of the stiffness rule: sum N_a theta_a.
[[nodiscard]] double dilatation_at(const BodyModel& body, std::span<const double> means, std::size_t element,
                                   std::size_t point);

/// Nodes coupled to each node, including itself, ascending: the pattern of a stiffness in 3 x 3 blocks.
struct NodeGraph {
  std::vector<std::size_t> outer{0};  ///< start of the neighbours of each node in `inner`, and the end
  std::vector<std::uint32_t> inner;

  [[nodiscard]] std::span<const std::uint32_t> neighbours(std::size_t node) const {
    return std::span(inner).subspan(outer[node], outer[node + 1] - outer[node]);
  }
};
[[nodiscard]] NodeGraph node_graph(const BodyModel& body);
/// @param K  of full 3 x 3 blocks
[[nodiscard]] NodeGraph node_graph(const SparseMatrix& K);

/// Sparsity pattern of all couplings of a body with zero values; symmetric, rows sorted.
[[nodiscard]] SparseMatrix sparsity_pattern(const BodyModel& body);

/// Linear elastic stiffness [N/m]. @param n_threads  as in BodyCells::sum; no influence on the bits
[[nodiscard]] SparseMatrix linear_stiffness(const BodyModel& body, unsigned n_threads = 0);

/// Consistent mass times a field: M * field [kg * unit of field]; `field` has n_dofs() rows.
[[nodiscard]] Eigen::MatrixXd mass_times(const BodyModel& body, const Eigen::MatrixXd& field);

/// Displacement fields of the six rigid motions (n_dofs x 6): rotations about A's origin [m/rad], then translations
/// [-].
[[nodiscard]] Eigen::Matrix<double, Eigen::Dynamic, 6> rigid_modes(const BodyModel& body);

/// Stresses [Pa] at the quadrature points of the stiffness rule, one column xx yy zz xy yz zx per (element, point).
using StressColumns = Eigen::Matrix<double, 6, Eigen::Dynamic>;

/// Element laws for point_stresses() as functions of the displacement gradient G [-].
struct StressLaw {
  DilatationLaw dilatation;
  /// [Pa] symmetric. @param mixed  [-] in a mixed body the volume change interpolated from its pressures
  std::function<Matrix3(std::size_t element, const Matrix3& G, std::optional<double> mixed)> stress;
};

/// Stresses of a displacement (n_dofs). Points are evaluated in the order of the columns.
[[nodiscard]] StressColumns point_stresses(const BodyModel& body, const Eigen::VectorXd& u, const StressLaw& law);

/// Cauchy stresses of the linear material.
[[nodiscard]] StressColumns linear_stress(const BodyModel& body, const Eigen::VectorXd& u);

/// Surface nodes that can carry contact forces, with their tributary areas.
///
/// Linear tetrahedra: the corners, with the integral of the shape function (a third of the adjacent triangles).
/// Quadratic tetrahedra: the mid-side nodes only. The consistent area of a corner of a six-node triangle is zero and
/// that of a mid-side node a third of the triangle, so corners cannot carry a uniform pressure and would carry forces
/// of either sign; with mid-side nodes alone, positive pressure means positive forces and the patch test is passed
/// exactly. Hexahedra: all nodes, whose consistent areas are positive; on a plane nine-node rectangle 1/36, 4/36 and
/// 16/36 of its area for a corner, a mid-side node and the centre node.
struct ContactNodes {
  std::vector<std::uint32_t> nodes;  ///< mesh nodes, ascending
  std::vector<double> areas;         ///< [m^2] > 0
  std::vector<Vector3> normals;      ///< [-] outward, area-weighted mean of the adjacent faces
  std::vector<ElementFace> faces;    ///< faces that contribute to the areas, ascending
};
[[nodiscard]] ContactNodes contact_nodes(const BodyModel& body, std::span<const ElementFace> faces);

/// The nodes for which `keep` is true, with all faces.
[[nodiscard]] ContactNodes selected(const ContactNodes& all, const std::vector<bool>& keep);

}  // namespace heelstrike::fem
