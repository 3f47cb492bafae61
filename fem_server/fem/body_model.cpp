#include "fem_server/fem/body_model.hpp"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <array>
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
        fmt::format(
            "Poisson's ratio must lie in [0, 0.5), found {}; for nearly incompressible tissue take 0.499 or 0.4999 "
            "and a mixed element (element: tet10_mixed, tet4_mixed, wedge6_mixed, hex8 or hex27)",
            nu));
  }
  if (!(material.density >= 0.0)) {
    throw input_error("materials.density", fmt::format("density must be >= 0 kg/m^3, found {}", material.density));
  }
  return {
      .mu = E / (2.0 * (1.0 + nu)), .lambda = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), .density = material.density};
}

BodyModel::BodyModel(VolumeMesh mesh, std::span<const Material> materials, PressureKind pressure)
    : mesh_(std::move(mesh)), reference_(make_reference_element(mesh_.nodes_per_element)) {
  if (mesh_.n_elements() == 0) throw input_error("mesh", "the volume mesh has no elements");
  assign_materials(materials);
  check_elements();
  add_pressures(pressure);
}

void BodyModel::add_pressures(PressureKind kind) {
  std::vector<std::uint32_t> alike(mesh_.n_elements());
  for (std::size_t e = 0; e < alike.size(); ++e) alike[e] = first_alike(e);
  pressures_ = PressureSpace(kind, mesh_, alike);
  pressure_volumes_.assign(pressures_.size(), 0.0);
  for (std::size_t e = 0; e < mesh_.n_elements(); ++e) {
    const auto own = pressures_.of_element(e);
    for (std::size_t q = 0; q < reference_.stiffness.weights.size() && !own.empty(); ++q) {
      const double weight = point_geometry(reference_.stiffness, e, q).weight;
      for (std::size_t k = 0; k < own.size(); ++k) pressure_volumes_[own[k]] += weight * pressure_value(k, q);
    }
  }
}

BodyModel BodyModel::part(std::span<const std::uint32_t> elements, std::vector<std::uint32_t>& nodes) const {
  BodyModel part;
  part.reference_ = reference_;
  part.constants_ = constants_;
  part.first_alike_ = first_alike_;
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
  part.add_pressures(pressures_.kind());
  return part;
}

void BodyModel::assign_materials(std::span<const Material> materials) {
  constexpr auto none = static_cast<std::uint32_t>(-1);
  material_of_.assign(mesh_.n_elements(), none);
  for (const Material& material : materials) {
    const auto index = static_cast<std::uint32_t>(constants_.size());
    constants_.push_back(lame_constants(material));
    const auto alike = std::ranges::find_if(materials.first(index), [&](const Material& earlier) {
      return earlier.youngs_modulus == material.youngs_modulus && earlier.poissons_ratio == material.poissons_ratio &&
             earlier.law == material.law;
    });
    first_alike_.push_back(static_cast<std::uint32_t>(alike - materials.begin()));
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

NodeGraph node_graph(const BodyModel& body) {
  const VolumeMesh& mesh = body.mesh();
  // A pressure couples all nodes that it acts on, among them all of its elements.
  const bool by_pressure = body.pressures().kind() == PressureKind::nodal;
  const std::size_t n_groups = by_pressure ? body.pressures().size() : mesh.n_elements();
  const auto group = [&](std::size_t i) { return by_pressure ? body.pressures().nodes(i) : mesh.element(i); };
  std::vector<std::vector<std::uint32_t>> groups_of(mesh.nodes.size());
  for (std::uint32_t i = 0; i < n_groups; ++i) {
    for (const std::uint32_t node : group(i)) groups_of[node].push_back(i);
  }
  NodeGraph graph;
  std::vector<std::uint32_t> row;
  for (const auto& groups : groups_of) {
    row.clear();
    for (const std::uint32_t i : groups) row.insert(row.end(), group(i).begin(), group(i).end());
    std::sort(row.begin(), row.end());
    graph.inner.insert(graph.inner.end(), row.begin(), std::unique(row.begin(), row.end()));
    graph.outer.push_back(graph.inner.size());
  }
  return graph;
}

NodeGraph node_graph(const SparseMatrix& K) {
  NodeGraph graph;
  for (Eigen::Index column = 0; column < K.cols(); column += 3) {
    for (SparseMatrix::InnerIterator entry(K, column); entry; ++entry) {
      if (entry.row() % 3 == 0) graph.inner.push_back(static_cast<std::uint32_t>(entry.row() / 3));
    }
    graph.outer.push_back(graph.inner.size());
  }
  return graph;
}

SparseMatrix sparsity_pattern(const BodyModel& body) {
  const NodeGraph graph = node_graph(body);
  const auto n = static_cast<Eigen::Index>(body.n_dofs());
  SparseMatrix matrix(n, n);
  // In 3x3 blocks; entries that happen to be zero stay in the pattern.
  const std::int64_t n_entries = 9 * std::ssize(graph.inner);
  matrix.resizeNonZeros(n_entries);
  std::int64_t* outer = matrix.outerIndexPtr();
  std::int64_t* inner = matrix.innerIndexPtr();
  std::int64_t k = 0;
  for (Eigen::Index column = 0; column < n; ++column) {
    outer[column] = k;
    for (const std::uint32_t node : graph.neighbours(static_cast<std::size_t>(column / 3))) {
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
  const bool mixed = !body.pressures().empty();
  const auto add = [&](std::size_t e, Eigen::MatrixXd& element_matrix) {
    LameConstants constants = body.material(e);
    if (mixed) constants.lambda = 0.0;  // comes by the pressures
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      add_linear_point(element_matrix, body.point_geometry(rule, e, q), constants);
    }
  };
  add_elements(body, K, add, n_threads);
  if (mixed) {
    const auto gradients = [](std::size_t, std::size_t, const BodyModel::PointGeometry& geometry) {
      return geometry.gradients;
    };
    add_pressure_stiffness(body, K, gradients, n_threads);
  }
  return K;
}

void add_pressure_stiffness(const BodyModel& body, SparseMatrix& matrix, const PointGradients& gradients,
                            unsigned n_threads) {
  const PressureSpace& pressures = body.pressures();
  const ShapeTable& rule = body.reference().stiffness;
  std::vector<Eigen::Matrix3Xd> volume_gradients(pressures.size());
  std::vector<double> stiffness(pressures.size());
  share_out(pressures.size(), n_threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const auto nodes = pressures.nodes(a);
      Eigen::Matrix3Xd& b = volume_gradients[a];
      b.setZero(3, static_cast<Eigen::Index>(nodes.size()));
      stiffness[a] = body.pressure_lambda(a) / body.pressure_volume(a);
      for (const std::uint32_t e : pressures.elements(a)) {
        const auto k =
            static_cast<std::size_t>(std::ranges::find(pressures.of_element(e), a) - pressures.of_element(e).begin());
        const auto element = body.mesh().element(e);
        std::array<Eigen::Index, 27> place{};  // as many as the largest element has
        for (std::size_t i = 0; i < element.size(); ++i) {
          place[i] = std::ranges::lower_bound(nodes, element[i]) - nodes.begin();
        }
        for (std::size_t q = 0; q < rule.weights.size(); ++q) {
          const auto geometry = body.point_geometry(rule, e, q);
          const auto g = gradients(e, q, geometry);
          const double weight = geometry.weight * body.pressure_value(k, q);
          for (std::size_t i = 0; i < element.size(); ++i) {
            b.col(place[i]) += weight * g.row(static_cast<Eigen::Index>(i)).transpose();
          }
        }
      }
    }
  });
  add_pressures(body, matrix, volume_gradients, stiffness, n_threads);
}

std::vector<double> mean_dilatations(const BodyModel& body, const Eigen::MatrixXd& at_points) {
  const PressureSpace& pressures = body.pressures();
  const ShapeTable& rule = body.reference().stiffness;
  std::vector<double> means(pressures.size(), 0.0);
  for (std::size_t e = 0; e < body.mesh().n_elements() && !pressures.empty(); ++e) {
    const auto own = pressures.of_element(e);
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      const double change = body.point_geometry(rule, e, q).weight *
                            at_points(static_cast<Eigen::Index>(q), static_cast<Eigen::Index>(e));
      for (std::size_t k = 0; k < own.size(); ++k) means[own[k]] += body.pressure_value(k, q) * change;
    }
  }
  for (std::size_t a = 0; a < means.size(); ++a) means[a] /= body.pressure_volume(a);
  return means;
}

double dilatation_at(const BodyModel& body, std::span<const double> means, std::size_t element, std::size_t point) {
  const auto own = body.pressures().of_element(element);
  double sum = 0.0;
  for (std::size_t k = 0; k < own.size(); ++k) sum += body.pressure_value(k, point) * means[own[k]];
  return sum;
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

StressColumns point_stresses(const BodyModel& body, const Eigen::VectorXd& u, const StressLaw& law) {
  const ShapeTable& rule = body.reference().stiffness;
  const std::size_t n_points = rule.weights.size();
  const std::size_t n_elements = body.mesh().n_elements();
  std::vector<Matrix3> gradients(n_points * n_elements, Matrix3::Zero());
  Eigen::MatrixXd dilatations(static_cast<Eigen::Index>(n_points), static_cast<Eigen::Index>(n_elements));
  for (std::size_t e = 0; e < n_elements; ++e) {
    const auto nodes = body.mesh().element(e);
    for (std::size_t q = 0; q < n_points; ++q) {
      const auto geometry = body.point_geometry(rule, e, q);
      Matrix3& G = gradients[e * n_points + q];
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        G += u.segment<3>(3 * static_cast<Eigen::Index>(nodes[a])) *
             geometry.gradients.row(static_cast<Eigen::Index>(a));
      }
      dilatations(static_cast<Eigen::Index>(q), static_cast<Eigen::Index>(e)) = law.dilatation(e, G);
    }
  }
  const std::vector<double> means = mean_dilatations(body, dilatations);
  StressColumns stress(6, static_cast<Eigen::Index>(n_points * n_elements));
  for (std::size_t e = 0; e < n_elements; ++e) {
    for (std::size_t q = 0; q < n_points; ++q) {
      std::optional<double> mixed;
      if (!means.empty()) mixed = dilatation_at(body, means, e, q);
      const Matrix3 s = law.stress(e, gradients[e * n_points + q], mixed);
      stress.col(static_cast<Eigen::Index>(e * n_points + q)) << s(0, 0), s(1, 1), s(2, 2), s(0, 1), s(1, 2), s(2, 0);
    }
  }
  return stress;
}

StressColumns linear_stress(const BodyModel& body, const Eigen::VectorXd& u) {
  return point_stresses(body, u,
                        {.dilatation = [](std::size_t, const Matrix3& G) { return G.trace(); },
                         .stress =
                             [&](std::size_t element, const Matrix3& G, std::optional<double> mixed) {
                               const LameConstants& c = body.material(element);
                               Matrix3 s = c.mu * (G + G.transpose());
                               s.diagonal().array() += c.lambda * mixed.value_or(G.trace());
                               return s;
                             }});
}

ContactNodes contact_nodes(const BodyModel& body, std::span<const ElementFace> faces) {
  const VolumeMesh& mesh = body.mesh();
  // Of six-node faces the middles alone: the consistent area of their corners is zero (docs/theory/contact_fem.md,
  // section 1).
  const std::size_t first = mesh.nodes_per_element == 10 ? 3 : 0;
  std::map<std::uint32_t, Vector3> area_vectors;
  std::map<std::uint32_t, double> areas;
  for (const ElementFace face : faces) {
    // Sides with four corners come in parts; each stands for its share of the side.
    const double n_parts = mesh.parts_of_side(face.face);
    const double share = 1.0 / n_parts;
    const ShapeTable& rule = n_parts > 1.0 ? body.reference().quadrilateral : body.reference().triangle;
    const auto nodes = side_nodes(mesh, face);
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      Eigen::Matrix<double, 3, 2> J = Eigen::Matrix<double, 3, 2>::Zero();
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        J += mesh.nodes[nodes[a]] * rule.gradients[q].row(static_cast<Eigen::Index>(a));
      }
      // Area vector of the quadrature point; curved faces have another one at each.
      const Vector3 normal = share * rule.weights[q] * J.col(0).cross(J.col(1));
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
