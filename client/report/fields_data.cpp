#include "client/report/fields_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <pugixml.hpp>

#include "common/errors/error.hpp"
#include "common/results/output_file.hpp"

namespace heelstrike::client::report {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& file, const std::string& found) {
  throw file_error(file, fmt::format("{}: expected fields as Heelstrike writes them, found: {}", file, found));
}

std::string from_base64(std::string_view text, const std::string& file) {
  std::string bytes;
  std::uint32_t group = 0;
  int n_bits = 0;
  for (const char c : text) {
    int digit = -1;
    if (c >= 'A' && c <= 'Z') digit = c - 'A';
    if (c >= 'a' && c <= 'z') digit = c - 'a' + 26;
    if (c >= '0' && c <= '9') digit = c - '0' + 52;
    if (c == '+') digit = 62;
    if (c == '/') digit = 63;
    if (c == '=' || c == '\n' || c == ' ' || c == '\t' || c == '\r') continue;
    if (digit < 0) refuse(file, fmt::format("the character '{}' in base64", c));
    group = group << 6 | static_cast<std::uint32_t>(digit);
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      bytes += static_cast<char>(group >> n_bits & 0xFF);
    }
  }
  return bytes;
}

/// Values of a binary DataArray: a 64-bit number of bytes, then the bytes.
template <class Value>
std::vector<Value> array_values(const pugi::xml_node& array, std::string_view type, const std::string& file) {
  if (array.attribute("type").value() != type || std::string_view(array.attribute("format").value()) != "binary") {
    refuse(file, fmt::format("array '{}' of type '{}' and format '{}'", array.attribute("Name").value(),
                             array.attribute("type").value(), array.attribute("format").value()));
  }
  std::string text;
  for (const pugi::xml_node& child : array.children()) {
    if (child.type() == pugi::node_pcdata) text += child.value();
  }
  // Header and data may be one run of base64 or two, each with its own padding; ours is one.
  const std::string bytes = from_base64(text, file);
  std::uint64_t size = 0;
  if (bytes.size() < sizeof(size)) refuse(file, "an array without a header");
  std::memcpy(&size, bytes.data(), sizeof(size));
  if (size != bytes.size() - sizeof(size) || size % sizeof(Value) != 0) {
    refuse(file, fmt::format("an array of {} bytes that says it has {}", bytes.size() - sizeof(size), size));
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

void read_cells(const pugi::xml_node& cells, FieldGrid& grid, const std::string& file) {
  const auto named = [&](const char* name) { return cells.find_child_by_attribute("DataArray", "Name", name); };
  const auto connectivity = array_values<std::int64_t>(named("connectivity"), "Int64", file);
  const auto offsets = array_values<std::int64_t>(named("offsets"), "Int64", file);
  const auto types = array_values<std::uint8_t>(named("types"), "UInt8", file);
  if (offsets.size() != types.size()) refuse(file, "a different number of offsets and types");
  std::vector<std::array<std::uint32_t, 4>> tetrahedra;
  const auto n_points = static_cast<std::int64_t>(grid.points.size() / 3);
  std::int64_t first = 0;
  for (std::size_t c = 0; c < types.size(); ++c) {
    // Quadratic tetrahedra begin with their four corners; the points of a cloud have no surface to draw.
    const std::size_t n = types[c] == 1 ? 1 : types[c] == 5 ? 3 : 4;
    if (types[c] != 1 && types[c] != 5 && types[c] != 10 && types[c] != 24)
      refuse(file, fmt::format("cells of type {}", types[c]));
    std::array<std::uint32_t, 4> cell{};
    for (std::size_t k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(first) + k;
      if (at >= connectivity.size() || connectivity[at] < 0 || connectivity[at] >= n_points)
        refuse(file, "a cell with a point that is not there");
      cell[k] = static_cast<std::uint32_t>(connectivity[at]);
    }
    first = offsets[c];
    if (n == 3) grid.triangles.insert(grid.triangles.end(), cell.begin(), cell.begin() + 3);
    if (n == 4) tetrahedra.push_back(cell);
  }
  add_boundary(tetrahedra, grid.triangles);
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

std::uint16_t quantised(double value, double low, double high) {
  if (!(high > low)) return 0;
  return static_cast<std::uint16_t>(std::lround(std::clamp((value - low) / (high - low), 0.0, 1.0) * 65535.0));
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

Json positions_json(const std::vector<FieldGrid>& frames) {
  std::array<double, 3> low{1e300, 1e300, 1e300};
  std::array<double, 3> high{-1e300, -1e300, -1e300};
  for (const FieldGrid& frame : frames) {
    for (std::size_t i = 0; i < frame.points.size(); ++i) {
      low[i % 3] = std::min(low[i % 3], frame.points[i]);
      high[i % 3] = std::max(high[i % 3], frame.points[i]);
    }
  }
  std::vector<std::uint16_t> values;
  for (const FieldGrid& frame : frames) {
    for (std::size_t i = 0; i < frame.points.size(); ++i) {
      values.push_back(quantised(frame.points[i], low[i % 3], high[i % 3]));
    }
  }
  return {{"low", low}, {"high", high}, {"values", packed(values)}};
}

/// Files have the undeformed shape and the displacement; a page shows where the points are.
void deform(FieldGrid& grid) {
  for (const PointArray& array : grid.arrays) {
    if (array.name != "displacement" || array.n_components != 3) continue;
    for (std::size_t i = 0; i < grid.points.size(); ++i) grid.points[i] += array.values[i];
  }
}

Json part_json(const fs::path& folder, const std::vector<FieldFile>& files, std::size_t values_budget) {
  const auto load = [&](const FieldFile& f) {
    FieldGrid grid = parse_vtu(read_whole_file(folder / f.file), (folder / f.file).string());
    deform(grid);
    return grid;
  };
  const FieldGrid first = load(files[0]);
  const std::size_t per_frame =
      std::max<std::size_t>(1, first.points.size() + first.points.size() / 3 * first.arrays.size());
  const std::size_t n_frames =
      std::clamp<std::size_t>(values_budget / per_frame, 2, files.size() < 2 ? 2 : files.size());
  std::vector<double> times;
  std::vector<FieldGrid> frames;
  Json names = Json::array();
  for (std::size_t k = 0; k < std::min(n_frames, files.size()); ++k) {
    const std::size_t at = n_frames >= files.size() ? k : k * (files.size() - 1) / (n_frames - 1);
    times.push_back(files[at].time);
    // A part at rest names the same file again and again.
    if (!frames.empty() &&
        std::all_of(files.begin(), files.end(), [&](const FieldFile& f) { return f.file == files[0].file; }))
      continue;
    frames.push_back(load(files[at]));
    names.push_back(files[at].file);
    if (frames.back().triangles != first.triangles) refuse(files[at].file, "triangles that change with time");
  }
  Json part = {{"name", files[0].name},
               {"times", packed(times)},
               {"n_points", first.points.size() / 3},
               {"n_frames", frames.size()},
               {"n_recorded", files.size()},
               {"files", names},
               {"triangles", packed(first.triangles)},
               {"positions", positions_json(frames)},
               {"quantities", Json::array()}};
  for (std::size_t a = 0; a < first.arrays.size(); ++a) {
    // Principal stresses are three numbers, no vector with a length.
    if (first.arrays[a].name == "principal_stress") continue;
    std::vector<std::vector<double>> values;
    for (const FieldGrid& frame : frames) {
      if (frame.arrays.size() != first.arrays.size()) refuse(files[0].name, "quantities that change with time");
      values.push_back(magnitudes(frame.arrays[a]));
    }
    part["quantities"].push_back(quantity_json(first.arrays[a].name, first.arrays[a].unit, values));
  }
  return part;
}

}  // namespace

FieldGrid parse_vtu(std::string_view text, const std::string& file_name) {
  pugi::xml_document document;
  const auto result = document.load_buffer(text.data(), text.size());
  if (!result) refuse(file_name, result.description());
  const pugi::xml_node root = document.child("VTKFile");
  if (std::string_view(root.attribute("header_type").value()) != "UInt64" || root.attribute("compressor")) {
    refuse(file_name, "another header type than UInt64, or compressed arrays");
  }
  const pugi::xml_node piece = root.child("UnstructuredGrid").child("Piece");
  FieldGrid grid;
  grid.points = array_values<double>(piece.child("Points").child("DataArray"), "Float64", file_name);
  read_cells(piece.child("Cells"), grid, file_name);
  for (const pugi::xml_node& array : piece.child("PointData").children("DataArray")) {
    PointArray field{.name = array.attribute("Name").value(),
                     .unit = array.find_child_by_attribute("InformationKey", "name", "UNITS_LABEL").text().get(),
                     .n_components = array.attribute("NumberOfComponents").as_uint(1),
                     .values = array_values<double>(array, "Float64", file_name)};
    if (field.n_components == 0 || field.values.size() != grid.points.size() / 3 * field.n_components) {
      refuse(file_name,
             fmt::format("{} values of '{}' on {} points", field.values.size(), field.name, grid.points.size() / 3));
    }
    const auto space = field.unit.find_last_not_of(" \n\t\r");
    field.unit.erase(space == std::string::npos ? 0 : space + 1);
    field.unit.erase(0, std::min(field.unit.find_first_not_of(" \n\t\r"), field.unit.size()));
    grid.arrays.push_back(std::move(field));
  }
  return grid;
}

std::vector<FieldFile> read_field_index(const fs::path& folder) {
  const std::string text = read_whole_file(folder / "fields.pvd");
  pugi::xml_document document;
  const auto result = document.load_buffer(text.data(), text.size());
  if (!result) refuse((folder / "fields.pvd").string(), result.description());
  std::vector<FieldFile> files;
  for (const pugi::xml_node& entry : document.child("VTKFile").child("Collection").children("DataSet")) {
    files.push_back(
        {entry.attribute("timestep").as_double(), entry.attribute("name").value(), entry.attribute("file").value()});
  }
  return files;
}

Json fields_json(const fs::path& folder, std::size_t values_budget) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<FieldFile>> series;
  for (const FieldFile& file : read_field_index(folder)) {
    if (!series.contains(file.name)) order.push_back(file.name);
    series[file.name].push_back(file);
  }
  Json json = {{"parts", Json::array()}};
  for (const std::string& name : order) {
    json["parts"].push_back(part_json(folder, series[name], values_budget / order.size()));
  }
  return json;
}

}  // namespace heelstrike::client::report
