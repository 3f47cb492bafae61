#include "fem_server/fem/body_shares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fem_server/fem/assembly.hpp"
#include "fem_server/fem/byte_stream.hpp"
#include "fem_server/fem/cluster_tree.hpp"

namespace heelstrike::fem {

namespace {

std::vector<Vector3> centres_of(const VolumeMesh& mesh) {
  std::vector<Vector3> centres;
  centres.reserve(mesh.n_elements());
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    Vector3 sum = Vector3::Zero();
    for (const std::uint32_t node : mesh.element(e)) sum += mesh.nodes[node];
    centres.push_back(sum / static_cast<double>(mesh.nodes_per_element));
  }
  return centres;
}

/// A share whose own cells are given; their nodal pressures belong to the share of the first element of each.
/// @param is_own  per element of the body
BodyShare share_with(const BodyModel& body, const std::vector<bool>& is_own) {
  const PressureSpace& pressures = body.pressures();
  std::vector<bool> wanted = is_own;
  std::vector<bool> owns_pressure(pressures.size(), false);
  for (std::size_t a = 0; a < pressures.size(); ++a) {
    owns_pressure[a] = is_own[pressures.elements(a).front()];
    if (!owns_pressure[a]) continue;
    for (const std::uint32_t e : pressures.elements(a)) wanted[e] = true;
  }
  std::vector<std::uint32_t> elements;
  for (std::uint32_t e = 0; e < wanted.size(); ++e) {
    if (wanted[e]) elements.push_back(e);
  }
  std::vector<std::uint32_t> nodes;
  BodyModel part = body.part(elements, nodes);
  std::vector<bool> own_cells;
  std::vector<bool> own_pressures(part.pressures().size(), false);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    own_cells.push_back(is_own[elements[i]]);
    const auto there = pressures.of_element(elements[i]);
    const auto here = part.pressures().of_element(i);
    for (std::size_t k = 0; k < here.size(); ++k) own_pressures[here[k]] = owns_pressure[there[k]];
  }
  return {.body = std::move(part),
          .nodes = std::move(nodes),
          .own_cells = std::move(own_cells),
          .own_pressures = std::move(own_pressures)};
}

std::vector<char> packed(const std::vector<bool>& flags) {
  return {flags.begin(), flags.end()};
}

std::vector<bool> unpacked(const std::vector<char>& flags) {
  std::vector<bool> result;
  for (const char flag : flags) result.push_back(flag != 0);
  return result;
}

}  // namespace

std::string BodyShare::bytes() const {
  ByteWriter writer;
  writer.put_all(body.bytes());
  writer.put_all(nodes);
  writer.put_all(packed(own_cells));
  writer.put_all(packed(own_pressures));
  return writer.take();
}

BodyShare BodyShare::from_bytes(std::string_view bytes) {
  ByteReader reader(bytes);
  BodyModel body = BodyModel::from_bytes(reader.get_text());
  auto nodes = reader.get_all<std::uint32_t>();
  auto own_cells = unpacked(reader.get_all<char>());
  auto own_pressures = unpacked(reader.get_all<char>());
  return {.body = std::move(body),
          .nodes = std::move(nodes),
          .own_cells = std::move(own_cells),
          .own_pressures = std::move(own_pressures)};
}

std::vector<BodyShare> shares_of(const BodyModel& body, std::size_t n_shares) {
  const std::size_t n = body.mesh().n_elements();
  const std::vector<std::uint32_t> order = make_cluster_tree(centres_of(body.mesh()), 1).order;
  std::vector<BodyShare> shares;
  for (std::size_t k = 0; k < n_shares; ++k) {
    std::vector<bool> is_own(n, false);
    for (std::size_t i = k * n / n_shares; i < (k + 1) * n / n_shares; ++i) is_own[order[i]] = true;
    shares.push_back(share_with(body, is_own));
  }
  return shares;
}

SparseMatrix own_stiffness(const BodyShare& share) {
  const BodyModel& body = share.body;
  SparseMatrix K = sparsity_pattern(body);
  if (body.mesh().n_elements() == 0) return K;  // more ranks than elements
  NodalPressures pressures(body, &share.own_pressures);
  body.cells().sum(
      [&](CellTerms& terms) {
        linear_cell(body.reference(), body.pressures().kind(), body.places(terms.cell), body.material(terms.cell),
                    terms);
      },
      [&](const CellTerms& terms) {
        if (share.own_cells[terms.cell]) add_matrix(terms, K);
        pressures.add(terms);
      });
  pressures.add_stiffness(K, 0);
  return K;
}

SparseMatrix block_between(const SparseMatrix& K, std::span<const std::uint32_t> nodes) {
  constexpr Eigen::Index none = -1;
  std::vector<Eigen::Index> place(static_cast<std::size_t>(K.cols() / 3), none);
  for (std::size_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = static_cast<Eigen::Index>(i);
  std::vector<Eigen::Triplet<double, std::int64_t>> entries;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (Eigen::Index axis = 0; axis < 3; ++axis) {
      for (SparseMatrix::InnerIterator entry(K, 3 * Eigen::Index{nodes[i]} + axis); entry; ++entry) {
        const Eigen::Index row = place[static_cast<std::size_t>(entry.row() / 3)];
        if (row == none) continue;
        entries.emplace_back(3 * row + entry.row() % 3, 3 * static_cast<Eigen::Index>(i) + axis, entry.value());
      }
    }
  }
  const auto n = 3 * static_cast<Eigen::Index>(nodes.size());
  SparseMatrix block(n, n);
  block.setFromTriplets(entries.begin(), entries.end());
  return block;
}

SparseMatrix stiffness_between(const BodyModel& body, std::span<const std::uint32_t> nodes) {
  const VolumeMesh& mesh = body.mesh();
  std::vector<bool> is_wanted(mesh.nodes.size(), false);
  for (const std::uint32_t node : nodes) is_wanted[node] = true;
  std::vector<bool> elements(mesh.n_elements(), false);
  for (std::size_t e = 0; e < elements.size(); ++e) {
    const auto own = mesh.element(e);
    elements[e] = std::ranges::any_of(own, [&](std::uint32_t node) { return is_wanted[node]; });
  }
  // A nodal pressure of these elements couples all nodes of its own elements.
  const std::vector<bool> touching = elements;
  for (std::size_t a = 0; a < body.pressures().size(); ++a) {
    const auto own = body.pressures().elements(a);
    if (std::ranges::none_of(own, [&](std::uint32_t e) { return touching[e]; })) continue;
    for (const std::uint32_t e : own) elements[e] = true;
  }
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t e = 0; e < elements.size(); ++e) {
    if (elements[e]) numbers.push_back(e);
  }
  std::vector<std::uint32_t> nodes_of_part;
  const BodyModel part = body.part(numbers, nodes_of_part);
  std::vector<std::uint32_t> places;
  for (const std::uint32_t node : nodes) {
    places.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(nodes_of_part, node) - nodes_of_part.begin()));
  }
  return block_between(linear_stiffness(part), places);
}

}  // namespace heelstrike::fem
