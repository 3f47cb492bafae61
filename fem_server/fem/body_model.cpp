#include "fem_server/fem/body_model.hpp"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <map>

#include "common/errors/error.hpp"
#include "fem_server/fem/assembly.hpp"

namespace heelstrike::fem {

LameConstants lame_constants(const Material& material) {
  const double E = material.youngs_modulus;
  const double nu = material.poissons_ratio;
  if (!(E > 0.0)) {
    throw input_error("materials.youngs_modulus", fmt::format("Young's modulus must be > 0 Pa, found {} Pa", E));
  }
  // lambda grows without bound towards 0.5, where displacements alone can no longer tell the pressure.
  if (!(nu >= 0.0 && nu < 0.5)) {
    throw input_error(
        "materials.poissons_ratio",
        fmt::format("Poisson's ratio must lie in [0, 0.5), found {}; nearly incompressible materials: use "
                    "0.49 and quadratic elements",
                    nu));
  }
  if (!(material.density >= 0.0)) {
    throw input_error("materials.density", fmt::format("density must be >= 0 kg/m^3, found {}", material.density));
  }
  return {
      .mu = E / (2.0 * (1.0 + nu)), .lambda = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), .density = material.density};
}

BodyModel::BodyModel(VolumeMesh mesh, std::span<const Material> materials)
    : mesh_(std::move(mesh)), reference_(make_reference_element(mesh_.nodes_per_element)) {
  if (mesh_.n_elements() == 0) throw input_error("mesh", "the volume mesh has no tetrahedra");
  assign_materials(materials);
  check_elements();
}

BodyModel BodyModel::part(std::span<const std::uint32_t> elements, std::vector<std::uint32_t>& nodes) const {
  BodyModel part;
  part.reference_ = reference_;
  part.constants_ = constants_;
  part.mesh_.nodes_per_element = mesh_.nodes_per_element;
  nodes.clear();
  for (const std::uint32_t e : elements) {
    part.material_of_.push_back(material_of_[e]);
    nodes.insert(nodes.end(), mesh_.element(e).begin(), mesh_.element(e).end());
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const std::uint32_t node : nodes) part.mesh_.nodes.push_back(mesh_.nodes[node]);
  for (const std::uint32_t e : elements) {
    for (const std::uint32_t node : mesh_.element(e)) {
      // Node numbers of the part keep the order of the body, so that sorted lists of either stay sorted.
      const auto place = std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin();
      part.mesh_.connectivity.push_back(static_cast<std::uint32_t>(place));
    }
  }
  return part;
}

void BodyModel::assign_materials(std::span<const Material> materials) {
  constexpr auto none = static_cast<std::uint32_t>(-1);
  material_of_.assign(mesh_.n_elements(), none);
  for (const Material& material : materials) {
    const auto index = static_cast<std::uint32_t>(constants_.size());
    constants_.push_back(lame_constants(material));
    // Later materials win: a general one is given first, and sets replace it where they are.
    if (material.set.empty()) {
      std::fill(material_of_.begin(), material_of_.end(), index);
      continue;
    }
    const auto set = mesh_.element_sets.find(material.set);
    if (set == mesh_.element_sets.end() || set->second.empty()) {
      std::string known;
      for (const auto& [name, elements] : mesh_.element_sets) known += (known.empty() ? "" : ", ") + name;
      throw input_error("materials.set", fmt::format("element set '{}' {}; sets of the mesh: {}", material.set,
                                                     set == mesh_.element_sets.end() ? "does not exist" : "is empty",
                                                     known.empty() ? "none" : known));
    }
    for (const std::uint32_t element : set->second) material_of_[element] = index;
  }
  const auto orphan = std::find(material_of_.begin(), material_of_.end(), none);
  if (orphan != material_of_.end()) {
    throw input_error("materials", fmt::format("{} of {} elements have no material, the first is element {}; give one "
                                               "material without a set",
                                               std::count(material_of_.begin(), material_of_.end(), none),
                                               mesh_.n_elements(), orphan - material_of_.begin()));
  }
}

void BodyModel::check_elements() const {
  std::size_t n_bad = 0;
  std::size_t first = 0;
  for (std::size_t e = 0; e < mesh_.n_elements(); ++e) {
    bool good = true;
    for (std::size_t q = 0; q < reference_.stiffness.weights.size(); ++q) {
      // What the integrals see: the determinant at the points of the stiffness rule.
      good = good && point_geometry(reference_.stiffness, e, q).weight > 0.0;
    }
    if (!good && n_bad++ == 0) first = e;
  }
  if (n_bad == 0) return;
  const Vector3& p = mesh_.nodes[mesh_.element(first)[0]];
  throw input_error("mesh",
                    fmt::format("{} of {} elements are inverted or degenerate, the first is element {} near ({}, {}, "
                                "{}) m; mesh the body again",
                                n_bad, mesh_.n_elements(), first, p.x(), p.y(), p.z()));
}

BodyModel::PointGeometry BodyModel::point_geometry(const ShapeTable& table, std::size_t element,
                                                   std::size_t point) const {
  const auto nodes = mesh_.element(element);
  const Eigen::MatrixXd& reference_gradients = table.gradients[point];
  Matrix3 J = Matrix3::Zero();  // J(i, k) = d x_i / d xi_k
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    J += mesh_.nodes[nodes[a]] * reference_gradients.row(static_cast<Eigen::Index>(a));
  }
  PointGeometry geometry;
  const double determinant = J.determinant();
  geometry.weight = determinant * table.weights[point];
  // grad_x N = grad_xi N dxi/dx. Of an inverted element there are none; check_elements() refuses it.
  if (determinant > 0.0) geometry.gradients = reference_gradients * J.inverse();
  return geometry;
}

SparseMatrix sparsity_pattern(const BodyModel& body) {
  const VolumeMesh& mesh = body.mesh();
  std::vector<std::vector<std::uint32_t>> neighbours(mesh.nodes.size());
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    for (const std::uint32_t a : mesh.element(e)) {
      for (const std::uint32_t b : mesh.element(e)) neighbours[a].push_back(b);
    }
  }
  const auto n = static_cast<Eigen::Index>(body.n_dofs());
  SparseMatrix matrix(n, n);
  std::int64_t n_entries = 0;
  for (auto& row : neighbours) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    row.shrink_to_fit();
    // A node couples with all nodes of its elements, in 3x3 blocks; entries that happen to be zero stay in the pattern.
    n_entries += 9 * static_cast<std::int64_t>(row.size());
  }
  matrix.resizeNonZeros(n_entries);
  std::int64_t* outer = matrix.outerIndexPtr();
  std::int64_t* inner = matrix.innerIndexPtr();
  std::int64_t k = 0;
  for (Eigen::Index column = 0; column < n; ++column) {
    outer[column] = k;
    for (const std::uint32_t node : neighbours[static_cast<std::size_t>(column / 3)]) {
      for (int i = 0; i < 3; ++i) inner[k++] = 3 * static_cast<std::int64_t>(node) + i;
    }
  }
  outer[n] = k;
  std::fill_n(matrix.valuePtr(), n_entries, 0.0);
  return matrix;
}

namespace {

/// 3x3 block of nodes (a, b): lambda ga gb^T + mu (gb ga^T + ga.gb I), the form sigma(u) : grad w of isotropic
/// elasticity.
void add_linear_point(Eigen::MatrixXd& matrix, const BodyModel::PointGeometry& geometry,
                      const LameConstants& constants) {
  const auto& g = geometry.gradients;
  for (Eigen::Index b = 0; b < g.rows(); ++b) {
    for (Eigen::Index a = 0; a < g.rows(); ++a) {
      Matrix3 block =
          constants.lambda * g.row(a).transpose() * g.row(b) + constants.mu * g.row(b).transpose() * g.row(a);
      block.diagonal().array() += constants.mu * g.row(a).dot(g.row(b));
      // Symmetric as a whole: block (b, a) is the transpose of block (a, b).
      matrix.block<3, 3>(3 * a, 3 * b) += geometry.weight * block;
    }
  }
}

}  // namespace

SparseMatrix linear_stiffness(const BodyModel& body, unsigned n_threads) {
  SparseMatrix K = sparsity_pattern(body);
  const ShapeTable& rule = body.reference().stiffness;
  const auto add = [&](std::size_t e, Eigen::MatrixXd& element_matrix) {
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      add_linear_point(element_matrix, body.point_geometry(rule, e, q), body.material(e));
    }
  };
  add_elements(body, K, add, n_threads);
  return K;
}

Eigen::MatrixXd mass_times(const BodyModel& body, const Eigen::MatrixXd& field) {
  const ShapeTable& rule = body.reference().mass;
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(field.rows(), field.cols());
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    const auto nodes = body.mesh().element(e);
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      // integral rho N_a (sum N_b field_b), point by point: the matrix is never formed.
      const double weight = body.point_geometry(rule, e, q).weight * body.material(e).density;
      const Eigen::VectorXd& N = rule.values[q];
      Eigen::MatrixXd value = Eigen::MatrixXd::Zero(3, field.cols());
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        value += N[static_cast<Eigen::Index>(a)] * field.middleRows(3 * static_cast<Eigen::Index>(nodes[a]), 3);
      }
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        result.middleRows(3 * static_cast<Eigen::Index>(nodes[a]), 3) +=
            weight * N[static_cast<Eigen::Index>(a)] * value;
      }
    }
  }
  return result;
}

Eigen::Matrix<double, Eigen::Dynamic, 6> rigid_modes(const BodyModel& body) {
  Eigen::Matrix<double, Eigen::Dynamic, 6> modes(static_cast<Eigen::Index>(body.n_dofs()), 6);
  for (std::size_t n = 0; n < body.mesh().nodes.size(); ++n) {
    const auto row = 3 * static_cast<Eigen::Index>(n);
    // theta x p = -skew(p) theta.
    modes.block<3, 3>(row, 0) = -skew(body.mesh().nodes[n]);
    modes.block<3, 3>(row, 3) = Matrix3::Identity();
  }
  return modes;
}

StressColumns point_stresses(const BodyModel& body, const Eigen::VectorXd& u,
                             const std::function<Matrix3(const LameConstants&, const Matrix3&)>& law) {
  const ShapeTable& rule = body.reference().stiffness;
  const std::size_t n_points = rule.weights.size();
  StressColumns stress(6, static_cast<Eigen::Index>(n_points * body.mesh().n_elements()));
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    const auto nodes = body.mesh().element(e);
    for (std::size_t q = 0; q < n_points; ++q) {
      const auto geometry = body.point_geometry(rule, e, q);
      Matrix3 G = Matrix3::Zero();
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        G += u.segment<3>(3 * static_cast<Eigen::Index>(nodes[a])) *
             geometry.gradients.row(static_cast<Eigen::Index>(a));
      }
      const Matrix3 s = law(body.material(e), G);
      stress.col(static_cast<Eigen::Index>(e * n_points + q)) << s(0, 0), s(1, 1), s(2, 2), s(0, 1), s(1, 2), s(2, 0);
    }
  }
  return stress;
}

StressColumns linear_stress(const BodyModel& body, const Eigen::VectorXd& u) {
  return point_stresses(body, u, [](const LameConstants& c, const Matrix3& G) {
    Matrix3 s = c.mu * (G + G.transpose());
    s.diagonal().array() += c.lambda * G.trace();
    return s;
  });
}

namespace {

/// Nodes of a face in the order of the face table: corners, then middles of (0,1), (1,2), (2,0).
std::vector<std::uint32_t> face_nodes(const VolumeMesh& mesh, ElementFace face) {
  const auto element = mesh.element(face.element);
  const auto& corners = tetrahedron_faces[face.face];
  std::vector<std::uint32_t> nodes{element[corners[0]], element[corners[1]], element[corners[2]]};
  if (mesh.nodes_per_element == 4) return nodes;
  for (const std::uint8_t middle : tetrahedron_face_middles[face.face]) nodes.push_back(element[middle]);
  return nodes;
}

}  // namespace

ContactNodes contact_nodes(const BodyModel& body, std::span<const ElementFace> faces) {
  const VolumeMesh& mesh = body.mesh();
  const ShapeTable& rule = body.reference().face;
  // Of six-node faces the middles alone: the consistent area of their corners is zero (docs/theory/contact_fem.md,
  // section 1).
  const std::size_t first = mesh.nodes_per_element == 4 ? 0 : 3;
  std::map<std::uint32_t, Vector3> area_vectors;
  std::map<std::uint32_t, double> areas;
  for (const ElementFace face : faces) {
    const auto nodes = face_nodes(mesh, face);
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      Eigen::Matrix<double, 3, 2> J = Eigen::Matrix<double, 3, 2>::Zero();
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        J += mesh.nodes[nodes[a]] * rule.gradients[q].row(static_cast<Eigen::Index>(a));
      }
      // Area vector of the quadrature point; curved faces have another one at each.
      const Vector3 normal = rule.weights[q] * J.col(0).cross(J.col(1));
      for (std::size_t a = first; a < nodes.size(); ++a) {
        const double N = rule.values[q][static_cast<Eigen::Index>(a)];
        area_vectors.try_emplace(nodes[a], Vector3::Zero()).first->second += N * normal;
        // The area is that of the surface, the mean normal that of its projection: on a curved part |sum| is smaller
        // than the sum.
        areas[nodes[a]] += N * normal.norm();
      }
    }
  }
  ContactNodes result;
  for (const auto& [node, area] : areas) {
    result.nodes.push_back(node);
    result.areas.push_back(area);
    result.normals.push_back(area_vectors.at(node).normalized());
  }
  result.faces.assign(faces.begin(), faces.end());
  std::ranges::sort(result.faces);
  return result;
}

ContactNodes selected(const ContactNodes& all, const std::vector<bool>& keep) {
  ContactNodes result;
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    if (!keep[i]) continue;
    result.nodes.push_back(all.nodes[i]);
    result.areas.push_back(all.areas[i]);
    result.normals.push_back(all.normals[i]);
  }
  result.faces = all.faces;
  return result;
}

}  // namespace heelstrike::fem
