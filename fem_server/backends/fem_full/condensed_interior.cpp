#include "fem_server/backends/fem_full/condensed_interior.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "common/errors/error.hpp"
#include "common/errors/pair_limit.hpp"
#include "common/files/digest.hpp"
#include "fem_server/backend_interface/preparation_locks.hpp"
#include "fem_server/fem/compliance_cache.hpp"

namespace heelstrike::fem {

namespace {

std::vector<bool> marked(std::size_t n, const std::vector<std::uint32_t>& chosen) {
  std::vector<bool> marks(n, false);
  for (const std::uint32_t i : chosen) marks[i] = true;
  return marks;
}

}  // namespace

std::vector<std::uint32_t> layer_of_depth(const BodyModel& body, const ContactNodes& contact, double depth) {
  const VolumeMesh& mesh = body.mesh();
  const std::vector<bool> touches = marked(mesh.nodes.size(), contact.nodes);
  std::vector<std::uint32_t> layer;
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    const auto nodes = mesh.element(e);
    const Vector3 center = element_center(mesh, e);
    const auto is_near = [&](std::uint32_t n) { return (mesh.nodes[n] - center).squaredNorm() <= depth * depth; };
    if (std::ranges::any_of(nodes, [&](std::uint32_t n) { return touches[n]; }) ||
        std::ranges::any_of(contact.nodes, is_near)) {
      layer.push_back(e);
    }
  }
  return layer;
}

std::vector<std::uint32_t> layer_of_set(const BodyModel& body, const ContactNodes& contact, const std::string& set,
                                        const std::string& key) {
  const VolumeMesh& mesh = body.mesh();
  const auto found = mesh.element_sets.find(set);
  if (found == mesh.element_sets.end() || found->second.empty()) {
    std::vector<std::string> known;
    for (const auto& [name, elements] : mesh.element_sets) known.push_back(name);
    throw input_error(key, fmt::format("{}: element set '{}' {}; sets of the mesh: {}", key, set,
                                       found == mesh.element_sets.end() ? "does not exist" : "is empty",
                                       known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  std::vector<bool> in_layer(mesh.nodes.size(), false);
  for (const std::uint32_t e : found->second) {
    for (const std::uint32_t n : mesh.element(e)) in_layer[n] = true;
  }
  const auto outside = std::ranges::count_if(contact.nodes, [&](std::uint32_t n) { return !in_layer[n]; });
  if (outside == 0) return found->second;
  throw input_error(
      key, fmt::format("{}: {} of {} contact nodes lie outside the layer '{}'{}; restrict contact_set, contact_box or "
                       "contact_direction, or use another set",
                       key, outside, contact.nodes.size(), set,
                       outside == std::ssize(contact.nodes) ? ", which contains none of them" : ""));
}

namespace {

constexpr std::string_view method_version = "interior 2 ";

std::vector<double> packed(const InteriorProduct& product) {
  std::vector<double> numbers;
  const auto append = [&](const auto& matrix) {
    numbers.insert(numbers.end(), matrix.data(), matrix.data() + matrix.size());
  };
  append(product.stiffness);
  append(product.inertia_loads);
  append(product.inertia_compliance);
  return numbers;
}

/// Expected sizes of a product.
struct InteriorSizes {
  Eigen::Index n_interface = 0;  ///< dofs
  Eigen::Index n_layer = 0;      ///< dofs: rows of inertia_loads
};

InteriorProduct unpacked(const std::vector<double>& numbers, const InteriorSizes& sizes) {
  InteriorProduct product;
  product.stiffness.resize(sizes.n_interface, sizes.n_interface);
  product.inertia_loads.resize(sizes.n_layer, 6);
  const double* from = numbers.data();
  const auto take = [&](auto& matrix) {
    std::copy_n(from, matrix.size(), matrix.data());
    from += matrix.size();
  };
  take(product.stiffness);
  take(product.inertia_loads);
  take(product.inertia_compliance);
  return product;
}

/// sha256 of all inputs of the product: mesh, materials, support, elements of the layer, version of the method.
std::string interior_key(const PreparedBody& whole, std::span<const std::uint32_t> layer) {
  // The nodes of the layer follow from its elements, which replace the candidates in the key.
  return sha256_hex(std::string(method_version) + compliance_key(whole.body, whole.support, layer));
}

/// Reads the product from the cache, `<key>.interior`, or computes it by `make` and stores it; without a cache folder
/// it is not stored. A damaged file is rebuilt; this and a folder without write access are reported through the
/// context's progress. Of concurrent sessions one computes it. @throws errors of `make`; Error{cancelled} when stopped
/// while waiting for another session
InteriorProduct prepared_interior(const std::string& key, const InteriorSizes& sizes,
                                  const std::function<InteriorProduct()>& make, const PrepareContext& context) {
  const CacheEntry entry{.key = key,
                         .kind = "interior",
                         .magic = "heelstrike interior 1\n",
                         .name = "the condensed interior",
                         .loaded = "interior loaded from the cache",
                         .begin = 0.3,
                         .end = 0.6,
                         .n = static_cast<std::size_t>(sizes.n_interface * sizes.n_interface + 6 * sizes.n_layer + 36)};
  const auto unpack = [&](const std::vector<double>& numbers) { return unpacked(numbers, sizes); };
  return prepare_once<InteriorProduct>(context.locks, key, context.stop, [&] {
    return cached<std::vector<double>>(context.cache_directory, entry, context.on_progress, context.stop, make, unpack,
                                       packed);
  });
}

std::vector<std::uint32_t> others(std::span<const std::uint32_t> elements, std::size_t n) {
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  std::vector<std::uint32_t> rest;
  std::ranges::set_difference(all, elements, std::back_inserter(rest));
  return rest;
}

std::uint32_t location_of(const std::vector<std::uint32_t>& nodes, std::uint32_t node) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(nodes, node) - nodes.begin());
}

/// Positions in `nodes` of those of `chosen` that it contains.
std::vector<std::uint32_t> places_of(const std::vector<std::uint32_t>& chosen,
                                     const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> places;
  for (const std::uint32_t node : chosen) {
    if (std::ranges::binary_search(nodes, node)) places.push_back(location_of(nodes, node));
  }
  return places;
}

/// Rows of these nodes.
Eigen::MatrixXd at_nodes(const Eigen::MatrixXd& field, const std::vector<std::uint32_t>& nodes) {
  Eigen::MatrixXd rows(3 * static_cast<Eigen::Index>(nodes.size()), field.cols());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    rows.middleRows<3>(3 * static_cast<Eigen::Index>(i)) = field.middleRows<3>(3 * static_cast<Eigen::Index>(nodes[i]));
  }
  return rows;
}

void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "fem_layered: preparation stopped on request");
}

}  // namespace

CondensedInterior::CondensedInterior(PreparedBody whole, std::span<const std::uint32_t> layer,
                                     double max_interface_nodes, const PrepareContext& context)
    : whole_(std::move(whole)),
      layer_elements_(layer.begin(), layer.end()),
      interior_elements_(others(layer, whole_.body.mesh().n_elements())),
      layer_(whole_.body.part(layer_elements_, layer_nodes_)),
      interior_(whole_.body.part(interior_elements_, interior_nodes_)) {
  find_interface();
  const double n = static_cast<double>(interface_.size());
  if (n > max_interface_nodes) {
    // Dense in K*, in the matrix with its row numbers, in the lower triangle for the factor and in the factor.
    throw PairLimit("max_interface_nodes",
                    fmt::format("the interface of layer and interior has {} nodes, max_interface_nodes is {}; its "
                                "dense stiffness would take {:.1f} GB in total. Use a thinner layer, fewer "
                                "contact nodes, larger elements or fem_full, or raise the limit",
                                interface_.size(), max_interface_nodes, 360e-9 * n * n));
  }
  check_stop(context.stop);
  // Nine numbers for each pair of coupled nodes. The matrix is kept for the stresses of the interior.
  const MemoryNeed own = matrix_memory(9.0 * static_cast<double>(node_graph(interior_).inner.size()));
  within_memory(whole_.max_memory, own, "the stiffness of the interior behind the layer",
                [&] { interior_matrix_ = linear_stiffness(interior_); });
  whole_.max_memory.in_use += own.total();
  Eigen::Index n_layer = 0;
  if (whole_.support.inertia_relief) {
    InertiaModes own = inertia_modes(whole_.body);
    modes_ = std::move(own.modes);
    mass_modes_ = std::move(own.loads);
    n_layer = static_cast<Eigen::Index>(layer_.n_dofs());
  }
  const InteriorSizes sizes{.n_interface = 3 * static_cast<Eigen::Index>(interface_.size()), .n_layer = n_layer};
  product_ = prepared_interior(
      interior_key(whole_, layer_elements_), sizes, [&] { return condense(context); }, context);
}

InteriorProduct CondensedInterior::condense(const PrepareContext& context) const {
  InteriorProduct product;
  const Progress progress = [&](std::string_view, double fraction) {
    context.on_progress("condense the interior", 0.3 + 0.3 * fraction);
  };
  if (!interface_.empty()) {
    product.stiffness =
        condensed_stiffness(interior_, interior_clamp_, interior_interface_, progress, context.stop, whole_.max_memory);
  }
  check_stop(context.stop);
  if (whole_.support.inertia_relief) condense_inertia(product, context);
  check_stop(context.stop);
  return product;
}

void CondensedInterior::find_interface() {
  interior_clamp_ = places_of(whole_.support.clamped_nodes, interior_nodes_);
  std::vector<std::uint32_t> shared;
  std::ranges::set_intersection(layer_nodes_, interior_nodes_, std::back_inserter(shared));
  std::erase_if(shared, [&](std::uint32_t n) { return std::ranges::binary_search(whole_.support.clamped_nodes, n); });
  interface_ = places_of(shared, layer_nodes_);
  interior_interface_ = places_of(shared, interior_nodes_);
}

void CondensedInterior::condense_inertia(InteriorProduct& product, const PrepareContext& context) const {
  Eigen::MatrixXd inside = at_nodes(mass_modes_, interior_nodes_);
  for (const std::uint32_t node : interior_interface_) inside.middleRows<3>(3 * Eigen::Index{node}).setZero();
  const Eigen::MatrixXd u = solve_interior(inside, context.stop);
  const Eigen::MatrixXd moved = interior_matrix_ * u;
  product.inertia_loads = at_nodes(mass_modes_, layer_nodes_);
  for (std::size_t i = 0; i < interface_.size(); ++i) {
    product.inertia_loads.middleRows<3>(3 * Eigen::Index{interface_[i]}) -=
        moved.middleRows<3>(3 * Eigen::Index{interior_interface_[i]});
  }
  const Matrix6 D = inside.transpose() * u;
  product.inertia_compliance = 0.5 * (D + D.transpose());
}

Eigen::MatrixXd CondensedInterior::solve_interior(const Eigen::MatrixXd& rhs, const std::stop_token& stop) const {
  if (!inside_) {
    std::vector<bool> fixed(interior_.mesh().nodes.size(), false);
    for (const std::uint32_t node : interior_clamp_) fixed[node] = true;
    for (const std::uint32_t node : interior_interface_) fixed[node] = true;
    std::vector<std::int64_t> inner;
    for (std::size_t dof = 0; dof < interior_.n_dofs(); ++dof) {
      if (!fixed[dof / 3]) inner.push_back(static_cast<std::int64_t>(dof));
    }
    if (inner.empty()) return Eigen::MatrixXd::Zero(rhs.rows(), rhs.cols());
    Elimination order(node_graph(interior_matrix_), inner, {});
    check_stop(stop);
    MemoryNeed need = factorisation_memory(order.size());
    need.matrices -= matrix_memory(order.size().matrix).matrices;  // already allocated
    within_memory(whole_.max_memory, need, "solving the interior behind the layer", [&] {
      auto factor = std::make_unique<SparseCholesky>(interior_matrix_, std::move(order));
      check_stop(stop);
      if (!factor->factorize(interior_matrix_)) {
        throw Error(ErrorCode::internal, "the interior became singular after its condensation");
      }
      inside_ = std::move(factor);
    });
  }
  return inside_->solve(rhs);
}

PreparedBody CondensedInterior::layer() const {
  PreparedBody part{.body = layer_,
                    .support = {.inertia_relief = whole_.support.inertia_relief,
                                .clamped_nodes = places_of(whole_.support.clamped_nodes, layer_nodes_)},
                    .contact = whole_.contact,
                    .pressure = whole_.pressure,
                    .regions = whole_.regions,
                    .partner = whole_.partner,
                    .options = whole_.options,
                    .shape = whole_.shape,
                    .max_memory = whole_.max_memory};
  part.contact.nodes = places_of(whole_.contact.nodes, layer_nodes_);
  part.contact.faces.clear();  // for fields, which are those of the whole body
  return part;
}

SparseMatrix CondensedInterior::widened(const SparseMatrix& layer_matrix) const {
  std::vector<std::int64_t> dense_rows;
  std::vector<bool> is_interface(layer_.mesh().nodes.size(), false);
  for (const std::uint32_t node : interface_) {
    is_interface[node] = true;
    for (std::int64_t k = 0; k < 3; ++k) dense_rows.push_back(3 * std::int64_t{node} + k);
  }
  SparseMatrix wide(layer_matrix.rows(), layer_matrix.cols());
  std::vector<std::int64_t> own;
  std::vector<std::int64_t> rows;
  std::vector<std::vector<std::int64_t>> pattern(is_interface.size());
  std::int64_t n_entries = 0;
  for (std::size_t node = 0; node < pattern.size(); ++node) {
    own.clear();
    for (SparseMatrix::InnerIterator entry(layer_matrix, 3 * static_cast<Eigen::Index>(node)); entry; ++entry)
      own.push_back(entry.row());
    if (is_interface[node]) {
      std::ranges::set_union(own, dense_rows, std::back_inserter(pattern[node]));
    } else {
      pattern[node] = own;
    }
    n_entries += 3 * static_cast<std::int64_t>(pattern[node].size());
  }
  wide.resizeNonZeros(n_entries);
  std::int64_t k = 0;
  for (Eigen::Index column = 0; column < wide.cols(); ++column) {
    wide.outerIndexPtr()[column] = k;
    const auto& column_rows = pattern[static_cast<std::size_t>(column / 3)];
    std::ranges::copy(column_rows, wide.innerIndexPtr() + k);
    k += static_cast<std::int64_t>(column_rows.size());
  }
  wide.outerIndexPtr()[wide.cols()] = k;
  std::fill_n(wide.valuePtr(), n_entries, 0.0);
  for (Eigen::Index column = 0; column < wide.cols(); ++column) {
    for (SparseMatrix::InnerIterator entry(layer_matrix, column); entry; ++entry)
      wide.coeffRef(entry.row(), column) = entry.value();
  }
  BodyEquations none{.force = Eigen::VectorXd::Zero(wide.rows())};
  add(none.force, none, wide);
  return wide;
}

void CondensedInterior::add(const Eigen::VectorXd& u_layer, BodyEquations& equations, SparseMatrix& tangent) const {
  const auto n = static_cast<Eigen::Index>(interface_.size());
  const Eigen::VectorXd u = at_nodes(u_layer, interface_);
  const Eigen::VectorXd force = product_.stiffness * u;
  equations.energy += 0.5 * u.dot(force);
  for (Eigen::Index j = 0; j < n; ++j) {
    const auto column = 3 * Eigen::Index{interface_[static_cast<std::size_t>(j)]};
    equations.force.segment<3>(column) += force.segment<3>(3 * j);
    for (Eigen::Index l = 0; l < 3; ++l) {
      std::int64_t at = tangent.outerIndexPtr()[column + l];
      for (Eigen::Index i = 0; i < n; ++i) {
        const std::int64_t row = 3 * std::int64_t{interface_[static_cast<std::size_t>(i)]};
        while (tangent.innerIndexPtr()[at] != row) ++at;
        for (Eigen::Index k = 0; k < 3; ++k) tangent.valuePtr()[at + k] += product_.stiffness(3 * i + k, 3 * j + l);
      }
    }
  }
}

SixColumns CondensedInterior::layer_modes() const {
  return at_nodes(modes_, layer_nodes_);
}

Eigen::VectorXd CondensedInterior::displacement(const Eigen::VectorXd& u_layer,
                                                std::span<const Vector3> contact_forces) const {
  Eigen::VectorXd u = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(interior_.n_dofs()));
  for (std::size_t i = 0; i < interface_.size(); ++i) {
    u.segment<3>(3 * Eigen::Index{interior_interface_[i]}) = u_layer.segment<3>(3 * Eigen::Index{interface_[i]});
  }
  Eigen::VectorXd load = -(interior_matrix_ * u);
  if (whole_.support.inertia_relief) {
    Vector6 inertia = Vector6::Zero();
    for (std::size_t c = 0; c < contact_forces.size(); ++c) {
      inertia += modes_.middleRows<3>(3 * Eigen::Index{whole_.contact.nodes[c]}).transpose() * contact_forces[c];
    }
    load -= at_nodes(mass_modes_, interior_nodes_) * inertia;
  }
  {
    const std::scoped_lock lock(mutex_);
    u += solve_interior(load);
  }
  Eigen::VectorXd all = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(whole_.body.n_dofs()));
  for (std::size_t i = 0; i < interior_nodes_.size(); ++i) {
    all.segment<3>(3 * Eigen::Index{interior_nodes_[i]}) = u.segment<3>(3 * static_cast<Eigen::Index>(i));
  }
  for (std::size_t i = 0; i < layer_nodes_.size(); ++i) {
    all.segment<3>(3 * Eigen::Index{layer_nodes_[i]}) = u_layer.segment<3>(3 * static_cast<Eigen::Index>(i));
  }
  return all;
}

StressColumns CondensedInterior::stress(const StressColumns& of_layer, const Eigen::VectorXd& u) const {
  StressColumns all = linear_stress(whole_.body, u);
  const auto n_points = static_cast<Eigen::Index>(whole_.body.reference().stiffness.weights.size());
  for (std::size_t e = 0; e < layer_elements_.size(); ++e) {
    all.middleCols(n_points * Eigen::Index{layer_elements_[e]}, n_points) =
        of_layer.middleCols(n_points * static_cast<Eigen::Index>(e), n_points);
  }
  return all;
}

}  // namespace heelstrike::fem
