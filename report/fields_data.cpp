#include "report/fields_data.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <pugixml.hpp>
#include <span>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/spatial/spatial.hpp"
#include "common/text/markup.hpp"
#include "report/pressure_map.hpp"

namespace heelstrike::report {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void reject(const std::string& file, const std::string& found) {
  throw file_error(file, fmt::format("{}: expected fields in the format of Heelstrike, found: {}", file, found));
}

/// Values of a binary DataArray: a 64-bit number of bytes, then the bytes.
template <class Value>
std::vector<Value> array_values(const pugi::xml_node& array, std::string_view type, const std::string& file) {
  if (array.attribute("type").value() != type || std::string_view(array.attribute("format").value()) != "binary") {
    reject(file, fmt::format("array '{}' of type '{}' and format '{}'", array.attribute("Name").value(),
                             array.attribute("type").value(), array.attribute("format").value()));
  }
  std::string text;
  for (const pugi::xml_node& child : array.children()) {
    if (child.type() == pugi::node_pcdata) text += child.value();
  }
  // Header and data may be one or two base64 blocks, each with padding; Heelstrike writes one.
  const std::string bytes = decode_base64(text, text.size());
  std::uint64_t size = 0;
  if (bytes.size() < sizeof(size)) reject(file, "an array without a header");
  std::memcpy(&size, bytes.data(), sizeof(size));
  if (size != bytes.size() - sizeof(size) || size % sizeof(Value) != 0) {
    reject(file, fmt::format("an array of {} bytes with a stated size of {}", bytes.size() - sizeof(size), size));
  }
  std::vector<Value> values(size / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data() + sizeof(size), size);
  return values;
}

using Triangle = std::array<std::uint32_t, 3>;

/// Faces that belong to one tetrahedron only.
void add_boundary(const std::vector<std::array<std::uint32_t, 4>>& tetrahedra, std::vector<std::uint32_t>& triangles) {
  constexpr int faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
  std::map<Triangle, std::pair<int, Triangle>> count;
  for (const auto& t : tetrahedra) {
    for (const auto& f : faces) {
      const Triangle face = {t[static_cast<std::size_t>(f[0])], t[static_cast<std::size_t>(f[1])],
                             t[static_cast<std::size_t>(f[2])]};
      Triangle key = face;
      std::sort(key.begin(), key.end());
      auto& entry = count[key];
      ++entry.first;
      entry.second = face;
    }
  }
  for (const auto& [key, entry] : count) {
    if (entry.first == 1) triangles.insert(triangles.end(), entry.second.begin(), entry.second.end());
  }
}

/// Subdivision of a hexahedron with 27 nodes into eight hexahedra, with corners in VTK order.
std::array<std::array<std::uint32_t, 8>, 8> subdivide_hexahedron(std::span<const std::uint32_t> cell) {
  // Nodes on the lattice of 3 x 3 x 3, x fastest.
  static constexpr std::array<std::size_t, 27> lattice{0,  8,  1,  11, 24, 9,  3, 10, 2,  16, 22, 17, 20, 26,
                                                       21, 19, 23, 18, 4,  12, 5, 15, 25, 13, 7,  14, 6};
  std::array<std::array<std::uint32_t, 8>, 8> parts{};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t first = i % 2 + 3 * (i / 2 % 2) + 9 * (i / 4);
    static constexpr std::array<std::size_t, 8> corners{0, 1, 4, 3, 9, 10, 13, 12};
    for (std::size_t k = 0; k < 8; ++k) parts[i][k] = cell[lattice[first + corners[k]]];
  }
  return parts;
}

/// Splits a hexahedron into six tetrahedra, a prism into three, from its corner with the smallest index to the opposite
/// faces. Faces are split from their smallest corner, so that neighbours split a face identically.
/// @param cell  corners in VTK order
void add_cut(std::span<const std::uint32_t> cell, std::vector<std::array<std::uint32_t, 4>>& tetrahedra) {
  using Sides = std::vector<std::vector<std::size_t>>;
  static const Sides of_hexahedron{{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
  static const Sides of_prism{{0, 1, 2}, {3, 5, 4}, {0, 3, 4, 1}, {1, 4, 5, 2}, {2, 5, 3, 0}};
  const std::uint32_t apex = *std::min_element(cell.begin(), cell.end());
  for (const auto& side : cell.size() == 8 ? of_hexahedron : of_prism) {
    std::vector<std::uint32_t> corners;
    for (const std::size_t i : side) corners.push_back(cell[i]);
    if (std::find(corners.begin(), corners.end(), apex) != corners.end()) continue;
    std::rotate(corners.begin(), std::min_element(corners.begin(), corners.end()), corners.end());
    // Outward triangles are clockwise as seen from the apex inside.
    for (std::size_t i = 2; i < corners.size(); ++i)
      tetrahedra.push_back({corners[0], corners[i], corners[i - 1], apex});
  }
}

void read_cells(const pugi::xml_node& cells, FieldGrid& grid, const std::string& file) {
  const auto named = [&](const char* name) { return cells.find_child_by_attribute("DataArray", "Name", name); };
  const auto connectivity = array_values<std::int64_t>(named("connectivity"), "Int64", file);
  const auto offsets = array_values<std::int64_t>(named("offsets"), "Int64", file);
  const auto types = array_values<std::uint8_t>(named("types"), "UInt8", file);
  if (offsets.size() != types.size()) reject(file, "a different number of offsets and types");
  std::vector<std::array<std::uint32_t, 4>> tetrahedra;
  const auto n_points = static_cast<std::int64_t>(grid.points.size() / 3);
  std::int64_t first = 0;
  for (std::size_t c = 0; c < types.size(); ++c) {
    // Quadratic tetrahedra begin with their four corners; point clouds have no surface.
    static const std::map<int, std::size_t> n_field_pairs{{1, 1}, {5, 3}, {10, 4}, {12, 8}, {13, 6}, {24, 4}, {29, 27}};
    const auto known = n_field_pairs.find(types[c]);
    if (known == n_field_pairs.end()) reject(file, fmt::format("cells of type {}", types[c]));
    const std::size_t n = known->second;
    std::array<std::uint32_t, 27> cell{};
    for (std::size_t k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(first) + k;
      if (at >= connectivity.size() || connectivity[at] < 0 || connectivity[at] >= n_points)
        reject(file, "a cell with an invalid point index");
      cell[k] = static_cast<std::uint32_t>(connectivity[at]);
    }
    first = offsets[c];
    if (n == 3) grid.triangles.insert(grid.triangles.end(), cell.begin(), cell.begin() + 3);
    if (n == 4) tetrahedra.push_back({cell[0], cell[1], cell[2], cell[3]});
    if (n == 6 || n == 8) add_cut(std::span(cell).first(n), tetrahedra);
    if (n == 27) {
      for (const auto& part : subdivide_hexahedron(cell)) add_cut(part, tetrahedra);
    }
  }
  for (const auto& t : tetrahedra) grid.tetrahedra.insert(grid.tetrahedra.end(), t.begin(), t.end());
  add_boundary(tetrahedra, grid.triangles);
}

/// @param n  points or cells
std::vector<PointArray> read_arrays(const pugi::xml_node& data, std::size_t n, const std::string& file) {
  std::vector<PointArray> arrays;
  for (const pugi::xml_node& array : data.children("DataArray")) {
    PointArray field{.name = array.attribute("Name").value(),
                     .unit = array.find_child_by_attribute("InformationKey", "name", "UNITS_LABEL").text().get(),
                     .n_components = array.attribute("NumberOfComponents").as_uint(1),
                     .values = array_values<double>(array, "Float64", file)};
    if (field.n_components == 0 || field.values.size() != n * field.n_components) {
      reject(file, fmt::format("{} values of '{}' on {} points or cells", field.values.size(), field.name, n));
    }
    const auto space = field.unit.find_last_not_of(" \n\t\r");
    field.unit.erase(space == std::string::npos ? 0 : space + 1);
    field.unit.erase(0, std::min(field.unit.find_first_not_of(" \n\t\r"), field.unit.size()));
    arrays.push_back(std::move(field));
  }
  return arrays;
}

/// Length of each vector, or the scalar itself.
std::vector<double> magnitudes(const PointArray& array) {
  if (array.n_components == 1) return array.values;
  std::vector<double> result;
  for (std::size_t i = 0; i + array.n_components <= array.values.size(); i += array.n_components) {
    double sum = 0.0;
    for (std::size_t k = 0; k < array.n_components; ++k) sum += array.values[i + k] * array.values[i + k];
    result.push_back(std::sqrt(sum));
  }
  return result;
}

Json quantity_json(const std::string& name, const std::string& unit, const std::vector<std::vector<double>>& frames) {
  double low = 0.0;
  double high = 0.0;
  for (const auto& frame : frames) {
    for (const double v : frame) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  std::vector<std::uint16_t> values;
  for (const auto& frame : frames) {
    for (const double v : frame) values.push_back(quantised(v, low, high));
  }
  return {{"name", name}, {"unit", unit}, {"low", low}, {"high", high}, {"values", packed(values)}};
}

const PointArray* displacement_of(const FieldGrid& grid) {
  const auto found = std::ranges::find(grid.arrays, "displacement", &PointArray::name);
  return found != grid.arrays.end() && found->n_components == 3 ? &*found : nullptr;
}

Eigen::Map<const Eigen::Matrix3Xd> columns_of(const std::vector<double>& values) {
  return {values.data(), 3, static_cast<Eigen::Index>(values.size() / 3)};
}

/// Separates shape and motion of a part: files contain the undeformed points in the world and the displacement.
struct Motion {
  Eigen::Matrix3Xd points;                     ///< [m] undeformed, in P
  std::vector<double> poses;                   ///< X_WP of every frame
  std::vector<Eigen::Matrix3Xd> displacement;  ///< [m] in P
  double largest = 0.0;                        ///< [m] maximum displacement component

  /// False if the displacement is only round-off of the rigid motion.
  [[nodiscard]] bool deforms() const {
    return largest > 1e-9 * (points.cols() > 0 ? points.cwiseAbs().maxCoeff() : 0.0);
  }
};

void add_motion(const FieldGrid& grid, Motion& motion) {
  const Eigen::Matrix3Xd now = columns_of(grid.points);
  const bool is_first = motion.poses.empty();
  Pose X_WP{.R = Matrix3::Identity(), .p = now.cols() > 0 ? Vector3(now.rowwise().mean()) : Vector3::Zero()};
  if (is_first) motion.points = now.colwise() - X_WP.p;
  if (!is_first && now.cols() > 2) {
    // The undeformed points move rigidly, so that the fit is exact [umeyama1991].
    const Eigen::Matrix4d X = Eigen::umeyama(motion.points, now, false);
    X_WP = {.R = X.topLeftCorner<3, 3>(), .p = X.topRightCorner<3, 1>()};
  }
  const Quaternion q = quaternion_from_rotation(X_WP.R);
  motion.poses.insert(motion.poses.end(), {q.w(), q.x(), q.y(), q.z(), X_WP.p.x(), X_WP.p.y(), X_WP.p.z()});
  Eigen::Matrix3Xd there = now;
  if (const PointArray* u = displacement_of(grid)) there += columns_of(u->values);
  motion.displacement.emplace_back((X_WP.R.transpose() * (there.colwise() - X_WP.p)) - motion.points);
  if (now.cols() > 0) motion.largest = std::max(motion.largest, motion.displacement.back().cwiseAbs().maxCoeff());
}

double find_peak_pressure(const FieldGrid& grid) {
  const auto pressure = std::ranges::find(grid.arrays, "contact_pressure", &PointArray::name);
  if (pressure == grid.arrays.end() || pressure->values.empty()) return 0.0;
  return std::ranges::max(pressure->values);
}

/// Evenly spaced frames, and the frame of peak pressure.
std::vector<std::size_t> select_frames(std::size_t n, std::size_t n_requested, std::size_t peak) {
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < std::min(n, n_requested); ++k)
    kept.push_back(n_requested >= n ? k : k * (n - 1) / (n_requested - 1));
  if (std::ranges::find(kept, peak) == kept.end()) {
    kept.push_back(peak);
    std::ranges::sort(kept);
  }
  return kept;
}

Json part_json(const fs::path& folder, const std::vector<FieldFile>& files, std::size_t values_budget) {
  const auto load = [&](const FieldFile& f) {
    return parse_vtu(read_whole_file(folder / f.file), (folder / f.file).string());
  };
  const FieldGrid first = load(files[0]);
  const std::size_t n_points = first.points.size() / 3;
  const std::size_t per_frame = std::max<std::size_t>(1, n_points * (3 + first.arrays.size()));
  // All frames of a part at rest refer to the same file.
  const bool at_rest = std::ranges::all_of(files, [&](const FieldFile& f) { return f.file == files[0].file; });
  const std::size_t n_requested = at_rest ? files.size() : std::max<std::size_t>(2, values_budget / per_frame);
  std::size_t peak = 0;
  if (n_requested < files.size()) {
    double largest = 0.0;
    for (std::size_t k = 0; k < files.size(); ++k) {
      const double here = find_peak_pressure(load(files[k]));
      if (here > largest) peak = k;
      largest = std::max(largest, here);
    }
  }
  std::vector<double> times;
  std::vector<FieldGrid> frames;
  Motion motion;
  Json names = Json::array();
  for (const std::size_t at : select_frames(files.size(), n_requested, peak)) {
    times.push_back(files[at].time);
    if (!frames.empty() && at_rest) continue;
    frames.push_back(load(files[at]));
    names.push_back(files[at].file);
    const FieldGrid& frame = frames.back();
    if (frame.points.size() != first.points.size() || frame.triangles != first.triangles ||
        frame.tetrahedra != first.tetrahedra) {
      reject(files[at].file, "cells that change with time");
    }
    add_motion(frame, motion);
  }
  Json part = {{"name", files[0].name},
               {"times", packed(times)},
               {"n_points", n_points},
               {"n_frames", frames.size()},
               {"n_recorded", files.size()},
               {"files", names},
               {"triangles", packed(first.triangles)},
               {"tetrahedra", packed(first.tetrahedra)},
               {"points", packed_vectors({motion.points})},
               {"poses", packed(motion.poses)},
               {"displacement", motion.deforms() ? packed_vectors(motion.displacement) : Json()},
               {"quantities", Json::array()}};
  for (std::size_t a = 0; a < first.arrays.size(); ++a) {
    // Principal stresses are three scalars, not a vector.
    if (first.arrays[a].name == "principal_stress") continue;
    std::vector<std::vector<double>> values;
    for (const FieldGrid& frame : frames) {
      if (frame.arrays.size() != first.arrays.size()) reject(files[0].name, "quantities that change with time");
      values.push_back(magnitudes(frame.arrays[a]));
    }
    part["quantities"].push_back(quantity_json(first.arrays[a].name, first.arrays[a].unit, values));
  }
  return part;
}

/// Name of the body of a part "PAIR_BODY" or, for a partner, "PAIR_BODY_partner".
Json body_json(std::string part, const std::vector<std::string>& columns) {
  constexpr std::string_view partner = "_partner";
  if (part.ends_with(partner)) part.resize(part.size() - partner.size());
  const auto owner = part_owner(part, columns);
  return owner ? Json(owner->body) : Json();
}

}  // namespace

FieldGrid parse_vtu(std::string_view text, const std::string& file_name) {
  check_xml_nesting(text, file_name, "fields");
  pugi::xml_document document;
  const auto result = document.load_buffer(text.data(), text.size());
  if (!result) reject(file_name, result.description());
  const pugi::xml_node root = document.child("VTKFile");
  if (std::string_view(root.attribute("header_type").value()) != "UInt64" || root.attribute("compressor")) {
    reject(file_name, "another header type than UInt64, or compressed arrays");
  }
  const pugi::xml_node piece = root.child("UnstructuredGrid").child("Piece");
  FieldGrid grid;
  grid.points = array_values<double>(piece.child("Points").child("DataArray"), "Float64", file_name);
  read_cells(piece.child("Cells"), grid, file_name);
  grid.arrays = read_arrays(piece.child("PointData"), grid.points.size() / 3, file_name);
  if (grid.tetrahedra.empty() && !grid.triangles.empty()) {
    grid.of_triangles = read_arrays(piece.child("CellData"), grid.triangles.size() / 3, file_name);
  }
  return grid;
}

std::vector<FieldFile> read_field_index(const fs::path& folder) {
  const std::string text = read_whole_file(folder / "fields.pvd");
  check_xml_nesting(text, (folder / "fields.pvd").string(), "fields");
  pugi::xml_document document;
  const auto result = document.load_buffer(text.data(), text.size());
  if (!result) reject((folder / "fields.pvd").string(), result.description());
  std::vector<FieldFile> files;
  for (const pugi::xml_node& entry : document.child("VTKFile").child("Collection").children("DataSet")) {
    files.push_back(
        {entry.attribute("timestep").as_double(), entry.attribute("name").value(), entry.attribute("file").value()});
  }
  return files;
}

Json fields_json(const fs::path& folder, const std::vector<std::string>& columns, std::size_t values_budget) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<FieldFile>> series;
  for (const FieldFile& file : read_field_index(folder)) {
    if (!series.contains(file.name)) order.push_back(file.name);
    series[file.name].push_back(file);
  }
  Json json = {{"parts", Json::array()}};
  for (const std::string& name : order) {
    Json part = part_json(folder, series[name], values_budget / order.size());
    part["body"] = body_json(name, columns);
    json["parts"].push_back(std::move(part));
  }
  return json;
}

}  // namespace heelstrike::report
