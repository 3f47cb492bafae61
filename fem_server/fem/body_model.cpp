#include "fem_server/fem/body_model.hpp"

#include <fmt/format.h>

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <map>

#include "common/errors/error.hpp"
#include "fem_server/fem/assembly.hpp"
#include "fem_server/fem/byte_stream.hpp"
#include "fem_server/fem/element_library.hpp"

namespace heelstrike::fem {

LameConstants lame_constants(const Material& material) {
  const double E = material.youngs_modulus;
  const double nu = material.poissons_ratio;
  if (!(E > 0.0)) {
    throw input_error("materials.youngs_modulus", fmt::format("Young's modulus must be > 0 Pa, found {} Pa", E));
  }
  // lambda is unbounded towards 0.5, where displacements alone no longer determine the pressure.
  if (!(nu >= 0.0 && nu < 0.5)) {
    throw input_error(
        "materials.poissons_ratio",
        fmt::format(
            "Poisson's ratio must lie in [0, 0.5), found {}; for nearly incompressible tissue use 0.499 or 0.4999 "
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
  for (std::size_t e = 0; e < alike.size(); ++e) alike[e] = first_element_like(e);
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
  part.first_element_like_ = first_element_like_;
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
      // Nodes of the part keep the order of the body, so that sorted lists remain sorted.
      const auto place = std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin();
      part.mesh_.connectivity.push_back(static_cast<std::uint32_t>(place));
    }
  }
  part.add_pressures(pressures_.kind());
  return part;
}

std::string BodyModel::bytes() const {
  ByteWriter writer;
  writer.put(mesh_.nodes_per_element);
  writer.put(pressures_.kind());
  writer.put(static_cast<std::uint64_t>(mesh_.nodes.size()));
  for (const Vector3& node : mesh_.nodes) {
    for (const double coordinate : node) writer.put(coordinate);
  }
  writer.put_all(mesh_.connectivity);
  writer.put_all(constants_);
  writer.put_all(first_element_like_);
  writer.put_all(material_of_);
  return writer.take();
}

BodyModel BodyModel::from_bytes(std::string_view bytes) {
  ByteReader reader(bytes);
  BodyModel body;
  body.mesh_.nodes_per_element = reader.get<std::uint32_t>();
  const auto kind = reader.get<PressureKind>();
  body.mesh_.nodes.resize(reader.get<std::uint64_t>());
  for (Vector3& node : body.mesh_.nodes) {
    for (double& coordinate : node) coordinate = reader.get<double>();
  }
  body.mesh_.connectivity = reader.get_all<std::uint32_t>();
  body.constants_ = reader.get_all<LameConstants>();
  body.first_element_like_ = reader.get_all<std::uint32_t>();
  body.material_of_ = reader.get_all<std::uint32_t>();
  body.reference_ = make_reference_element(body.mesh_.nodes_per_element);
  body.add_pressures(kind);
  return body;
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
    first_element_like_.push_back(static_cast<std::uint32_t>(alike - materials.begin()));
    // Later materials override earlier ones: a general material comes first, and sets replace it locally.
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
    throw input_error("materials", fmt::format("{} of {} elements have no material, the first is element {}; specify "
                                               "one material without a set",
                                               std::count(material_of_.begin(), material_of_.end(), none),
                                               mesh_.n_elements(), orphan - material_of_.begin()));
  }
}

void BodyModel::check_elements() const {
  std::size_t n_invalid = 0;
  std::size_t first = 0;
  for (std::size_t e = 0; e < mesh_.n_elements(); ++e) {
    bool good = true;
    for (std::size_t q = 0; q < reference_.stiffness.weights.size(); ++q) {
      // The integrals use the determinant at the points of the stiffness rule.
      good = good && point_geometry(reference_.stiffness, e, q).weight > 0.0;
    }
    if (!good && n_invalid++ == 0) first = e;
  }
  if (n_invalid == 0) return;
  const Vector3& p = mesh_.nodes[mesh_.element(first)[0]];
  throw input_error("mesh",
                    fmt::format("{} of {} elements are inverted or degenerate, the first is element {} near ({}, {}, "
                                "{}) m; remesh the body",
                                n_invalid, mesh_.n_elements(), first, p.x(), p.y(), p.z()));
}

CellNodes BodyModel::places(std::size_t element) const {
  const auto nodes = mesh_.element(element);
  CellNodes places(3, std::ssize(nodes));
  for (std::size_t a = 0; a < nodes.size(); ++a) places.col(static_cast<Eigen::Index>(a)) = mesh_.nodes[nodes[a]];
  return places;
}

CellNodes BodyModel::of_nodes(std::size_t element, const Eigen::VectorXd& field) const {
  const auto nodes = mesh_.element(element);
  CellNodes own(3, std::ssize(nodes));
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    own.col(static_cast<Eigen::Index>(a)) = field.segment<3>(3 * Eigen::Index{nodes[a]});
  }
  return own;
}

const BodyCells& BodyModel::cells() const {
  std::call_once(cells_->made, [&] { cells_->cells = element_library().body_cells(mesh_, material_of_); });
  return *cells_->cells;
}

NodeGraph node_graph(const BodyModel& body) {
  const VolumeMesh& mesh = body.mesh();
  // A pressure couples all nodes of its elements.
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
      // Full 3 x 3 blocks: the first row and column represent a block.
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
  // In 3x3 blocks; entries that are zero by value remain in the pattern.
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

SparseMatrix linear_stiffness(const BodyModel& body, unsigned n_threads) {
  SparseMatrix K = sparsity_pattern(body);
  NodalPressures pressures(body);
  body.cells().sum(
      [&](CellTerms& terms) {
        linear_cell(body.reference(), body.pressures().kind(), body.places(terms.cell), body.material(terms.cell),
                    terms);
      },
      [&](const CellTerms& terms) {
        add_matrix(terms, K);
        pressures.add(terms);
      },
      n_threads);
  pressures.add_stiffness(K, n_threads);
  return K;
}

std::vector<double> mean_dilatations(const BodyModel& body, const Eigen::VectorXd& u, const DilatationLaw& dilatation,
                                     unsigned n_threads) {
  const PressureSpace& pressures = body.pressures();
  std::vector<double> means(pressures.size(), 0.0);
  if (pressures.empty()) return means;
  const ShapeTable& rule = body.reference().stiffness;
  body.cells().sum(
      [&](CellTerms& terms) {
        const CellNodes own = body.of_nodes(terms.cell, u);
        terms.vectors.setZero(n_cell_pressures(body.reference(), pressures.kind()), 1);
        for (std::size_t q = 0; q < rule.weights.size(); ++q) {
          const QuadraturePoint geometry = body.point_geometry(rule, terms.cell, q);
          // theta_a = 1/V_a integral N_a theta dV, see PressureSpace.
          const double change = geometry.weight * dilatation(terms.cell, displacement_gradient(geometry, own));
          for (Eigen::Index k = 0; k < terms.vectors.rows(); ++k) {
            terms.vectors(k, 0) += body.pressure_value(static_cast<std::size_t>(k), q) * change;
          }
        }
      },
      [&](const CellTerms& terms) {
        const auto own = pressures.of_element(terms.cell);
        for (std::size_t k = 0; k < own.size(); ++k) means[own[k]] += terms.vectors(static_cast<Eigen::Index>(k), 0);
      },
      n_threads);
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
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(field.rows(), field.cols());
  body.cells().sum(
      [&](CellTerms& terms) {
        const Eigen::MatrixXd mass =
            cell_mass(body.reference(), body.places(terms.cell), body.material(terms.cell).density);
        const auto nodes = body.mesh().element(terms.cell);
        terms.vectors.setZero(3 * mass.rows(), field.cols());
        for (Eigen::Index b = 0; b < mass.rows(); ++b) {
          const auto of_node = field.middleRows<3>(3 * Eigen::Index{nodes[static_cast<std::size_t>(b)]});
          for (Eigen::Index a = 0; a < mass.rows(); ++a) terms.vectors.middleRows<3>(3 * a) += mass(a, b) * of_node;
        }
      },
      [&](const CellTerms& terms) { add_vectors(terms, result); });
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
  const std::vector<double> means = mean_dilatations(body, u, law.dilatation);
  StressColumns stress(6, static_cast<Eigen::Index>(n_points * n_elements));
  for (std::size_t e = 0; e < n_elements; ++e) {
    const CellNodes own = body.of_nodes(e, u);
    for (std::size_t q = 0; q < n_points; ++q) {
      std::optional<double> mixed;
      if (!means.empty()) mixed = dilatation_at(body, means, e, q);
      const Matrix3 s = law.stress(e, displacement_gradient(body.point_geometry(rule, e, q), own), mixed);
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
                               // Hooke: 2 mu eps + lambda theta 1.
                               Matrix3 s = c.mu * (G + G.transpose());
                               s.diagonal().array() += c.lambda * mixed.value_or(G.trace());
                               return s;
                             }});
}

ContactNodes contact_nodes(const BodyModel& body, std::span<const ElementFace> faces) {
  const VolumeMesh& mesh = body.mesh();
  // For six-node faces only mid-side nodes: the consistent area of their corners is zero (docs/theory/contact_fem.md,
  // section 1).
  const std::size_t first = mesh.nodes_per_element == 10 ? 3 : 0;
  std::map<std::uint32_t, Vector3> area_vectors;
  std::map<std::uint32_t, double> areas;
  for (const ElementFace face : faces) {
    // Quadrilateral sides are split into parts, each with an equal fraction of the side.
    const double n_parts = mesh.parts_of_side(face.face);
    const double share = 1.0 / n_parts;
    const ShapeTable& rule = n_parts > 1.0 ? body.reference().quadrilateral : body.reference().triangle;
    const auto nodes = side_nodes(mesh, face);
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      Eigen::Matrix<double, 3, 2> J = Eigen::Matrix<double, 3, 2>::Zero();
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        J += mesh.nodes[nodes[a]] * rule.gradients[q].row(static_cast<Eigen::Index>(a));
      }
      // Area vector of the quadrature point; it varies on curved faces.
      const Vector3 normal = share * rule.weights[q] * J.col(0).cross(J.col(1));
      for (std::size_t a = first; a < nodes.size(); ++a) {
        const double N = rule.values[q][static_cast<Eigen::Index>(a)];
        area_vectors.try_emplace(nodes[a], Vector3::Zero()).first->second += N * normal;
        // The area is that of the surface, the vector sum that of its projection: on a curved part |sum| is smaller.
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
