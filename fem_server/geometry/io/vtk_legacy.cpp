// Legacy VTK files with an unstructured grid or polygons, ASCII and binary (big endian), versions 1 to 5.1.
#include <fmt/format.h>

#include <charconv>
#include <map>

#include "common/errors/error.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"
#include "fem_server/geometry/io/vtk_grid.hpp"

namespace heelstrike::fem::io {

namespace {

/// Reader of the file; the kind of data set is read from the header.
class LegacyReader {
 public:
  LegacyReader(std::string_view bytes, const ReadOptions& options) : options_(options), scanner_(options.name, bytes) {}

  VolumeMesh read_grid() {
    read("unstructured_grid");
    if (grid_.types.size() != grid_.offsets.size()) {
      scanner_.fail(fmt::format("expected {} cell types, found {}: the file is truncated", grid_.offsets.size(),
                                grid_.types.size()));
    }
    VolumeBuilder builder(options_);
    add_grid(grid_, options_, builder);
    return builder.finish();
  }

  SurfaceMesh read_polygons() {
    read("polydata");
    SurfaceBuilder builder(options_);
    for (std::size_t i = 0; 3 * i < grid_.points.size(); ++i) {
      builder.add_vertex({grid_.points[3 * i], grid_.points[3 * i + 1], grid_.points[3 * i + 2]}, {"point", i});
    }
    for (const char* kind : {"vertices", "lines"}) {
      const std::size_t n = cells_[kind].offsets.size();
      if (n > 0) builder.add_note(fmt::format("{} {} do not form a surface and were omitted", n, kind));
    }
    // Cell data count vertices, lines, polygons and strips in this order; groups are kept for files of polygons only.
    const VtkPolygons& polygons = cells_["polygons"];
    const bool only_polygons = polygons.offsets.size() == n_cells();
    add_polygons(polygons, 0, only_polygons ? grid_.cell_arrays : std::vector<VtkArray>(), options_, builder);
    add_strips(cells_["triangle_strips"], 0, options_, builder);
    return builder.finish();
  }

 private:
  void read(const std::string& kind) {
    read_header(kind);
    for (std::string_view word = scanner_.word(); !word.empty(); word = scanner_.word()) read_section(lower_case(word));
  }

  void read_header(const std::string& expected) {
    const std::string_view first = scanner_.remaining_line();
    if (!first.starts_with("# vtk DataFile Version"))
      scanner_.fail("expected '# vtk DataFile Version' in the first line");
    scanner_.remaining_line();  // title
    // Some programs write a blank line after the title.
    std::string encoding;
    while (encoding.empty() && !scanner_.at_end()) encoding = lower_case(scanner_.remaining_line());
    if (encoding != "ascii" && encoding != "binary") scanner_.fail_expected("ASCII or BINARY", encoding);
    binary_ = encoding == "binary";
    std::string section = lower_case(scanner_.word());
    for (; section == "field" || section == "metadata"; section = lower_case(scanner_.word())) read_section(section);
    if (section != "dataset") scanner_.fail_expected("DATASET", section);
    const std::string_view kind = scanner_.word();
    if (lower_case(kind) != expected) scanner_.fail_expected("UNSTRUCTURED_GRID or POLYDATA", kind);
  }

  void read_section(const std::string& section) {
    if (section == "points") {
      const std::uint64_t n = scanner_.count("the number of points", options_.limits.max_nodes);
      grid_.points = values<double>(type(), 3 * n);
    } else if (section == "cells") {
      VtkPolygons cells = read_cells();
      grid_.offsets = std::move(cells.offsets);
      grid_.connectivity = std::move(cells.connectivity);
    } else if (section == "vertices" || section == "lines" || section == "polygons" || section == "triangle_strips") {
      VtkPolygons cells = read_cells();
      check_offsets(options_.name, cells.offsets, cells.connectivity.size());
      cells_[section] = std::move(cells);
    } else if (section == "cell_types") {
      const std::uint64_t n = scanner_.count("the number of cells");
      check_limit(options_.name, "cells", n, options_.limits.max_elements);
      grid_.types = values<std::int64_t>("int", n);
    } else if (section == "cell_data") {
      start_data(grid_.cell_arrays, n_cells());
    } else if (section == "point_data") {
      start_data(grid_.point_arrays, grid_.points.size() / 3);
    } else if (section == "metadata") {
      skip_metadata();
    } else {
      read_attribute(section);
    }
  }

  /// Skips VTK 9 metadata of the preceding array (component names, ranges), terminated by an empty line.
  void skip_metadata() {
    scanner_.remaining_line();
    while (!scanner_.at_end() && !scanner_.remaining_line().empty()) {
    }
  }

  [[nodiscard]] std::size_t n_cells() const {
    std::size_t n = grid_.types.size();
    for (const auto& [kind, cells] : cells_) n += cells.offsets.size();
    return n;
  }

  void start_data(std::vector<VtkArray>& arrays, std::size_t expected) {
    const std::uint64_t n = scanner_.count("the number of values");
    if (n != expected) scanner_.fail(fmt::format("expected data of {} items, found {}", expected, n));
    arrays_ = &arrays;
    n_items_ = expected;
  }

  VtkPolygons read_cells() {
    const std::uint64_t first = scanner_.count("the number of cells");
    const std::uint64_t second = scanner_.count("the size of the list of cells");
    check_limit(options_.name, "cells", first, options_.limits.max_elements + 1);
    constexpr std::uint64_t values_per_cell = 30;
    check_limit(options_.name, "corners", second, values_per_cell * options_.limits.max_elements);
    const std::size_t offset = scanner_.offset();
    const std::size_t line = scanner_.line();
    VtkPolygons cells;
    if (lower_case(scanner_.word()) == "offsets") {
      cells.offsets = values<std::int64_t>(type(), first);
      if (const auto word = scanner_.word(); lower_case(word) != "connectivity")
        scanner_.fail_expected("CONNECTIVITY", word);
      cells.connectivity = values<std::int64_t>(type(), second);
      if (cells.offsets.empty()) return cells;
      if (cells.offsets.front() != 0) scanner_.fail("expected offsets that start with 0");
      cells.offsets.erase(cells.offsets.begin());
      return cells;
    }
    scanner_.roll_back(offset, line);
    const std::vector<std::int64_t> list = values<std::int64_t>("int", second);
    std::size_t at = 0;
    for (std::uint64_t cell = 0; cell < first; ++cell) {
      const std::int64_t n = at < list.size() ? list[at] : -1;
      if (n < 0 || static_cast<std::uint64_t>(n) >= list.size() - at) {
        scanner_.fail(
            fmt::format("cell {}: expected its number of points and its points, found the end of the list", cell));
      }
      ++at;
      const auto begin = list.begin() + static_cast<std::ptrdiff_t>(at);
      cells.connectivity.insert(cells.connectivity.end(), begin, begin + n);
      at += static_cast<std::size_t>(n);
      cells.offsets.push_back(static_cast<std::int64_t>(cells.connectivity.size()));
    }
    return cells;
  }

  void read_attribute(const std::string& kind) {
    if (kind == "field") {
      read_field();
      return;
    }
    const std::string name = decoded(scanner_.word());
    if (kind == "scalars") {
      const std::string value_type = type();
      std::int64_t n_components = 1;
      if (const auto word = scanner_.word_in_line();
          !word.empty() && (!parse_integer(word, n_components) || n_components < 1 || n_components > 4)) {
        scanner_.fail_expected("1 to 4 components", word);
      }
      if (const auto word = scanner_.word(); lower_case(word) != "lookup_table")
        scanner_.fail_expected("LOOKUP_TABLE", word);
      scanner_.word();
      store(name, value_type, n_items_ * static_cast<std::uint64_t>(n_components));
    } else if (kind == "lookup_table") {
      const std::uint64_t n = scanner_.count("the size of a table", options_.limits.max_nodes);
      skip_values(binary_ ? "unsigned_char" : "float", 4 * n);
    } else if (kind == "color_scalars") {
      skip_values(binary_ ? "unsigned_char" : "float", n_items_ * scanner_.count("the number of components", 4));
    } else if (kind == "texture_coordinates") {
      const std::uint64_t n = scanner_.count("a dimension", 3);
      skip_values(type(), n_items_ * n);
    } else {
      static const std::map<std::string, std::uint64_t> components{
          {"vectors", 3}, {"normals", 3}, {"tensors", 9}, {"global_ids", 1}, {"pedigree_ids", 1}};
      const auto found = components.find(kind);
      if (found == components.end()) scanner_.fail_expected("a section of a VTK file", kind);
      skip_values(type(), n_items_ * found->second);
    }
  }

  void read_field() {
    scanner_.word();  // name of the field
    const std::uint64_t n_arrays = scanner_.count("the number of arrays");
    scanner_.check_count("arrays", n_arrays, options_.limits.max_elements, 8);
    for (std::uint64_t i = 0; i < n_arrays; ++i) {
      std::string name(scanner_.word());
      if (lower_case(name) == "metadata") {
        read_section("metadata");
        name = scanner_.word();
      }
      const std::uint64_t n_components = scanner_.count("the number of components", 1000);
      const std::uint64_t n_tuples = scanner_.count("the number of tuples", options_.limits.max_elements);
      store(decoded(name), type(), n_components * n_tuples);
    }
  }

  /// VTK writes blanks and special characters in names as %20.
  static std::string decoded(std::string_view name) {
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
      unsigned code = 0;
      const bool is_code = name[i] == '%' && i + 2 < name.size() &&
                           std::from_chars(&name[i + 1], &name[i + 1] + 2, code, 16).ptr == &name[i + 1] + 2;
      text += is_code ? static_cast<char>(code) : name[i];
      if (is_code) i += 2;
    }
    return text;
  }

  /// Stores an array that defines sets and skips any other.
  void store(const std::string& name, const std::string& value_type, std::uint64_t n) {
    const bool integer =
        value_type != "float" && value_type != "double" && value_type != "bit" && !value_type.ends_with("string");
    if (arrays_ != nullptr && integer && n == n_items_ && is_set_array(name)) {
      arrays_->push_back({name, values<std::int64_t>(value_type, n)});
    } else {
      skip_values(value_type, n);
    }
  }

  /// Name of a value type, in lower case.
  std::string type() {
    std::string name = lower_case(scanner_.word());
    if (!sizes().contains(name)) scanner_.fail_expected("a VTK type such as float or int", name);
    return name;
  }

  static const std::map<std::string, std::size_t>& sizes() {
    static const std::map<std::string, std::size_t> table{
        {"char", 1},         {"unsigned_char", 1}, {"short", 2},         {"unsigned_short", 2}, {"int", 4},
        {"unsigned_int", 4}, {"long", 8},          {"unsigned_long", 8}, {"vtktypeint64", 8},   {"vtkidtype", 4},
        {"float", 4},        {"double", 8},        {"vtktypeuint64", 8}, {"signed_char", 1},    {"bit", 1},
        {"string", 1},       {"utf8_string", 1}};
    return table;
  }

  std::string_view raw_values(const std::string& value_type, std::uint64_t n) {
    scanner_.remaining_line();
    return scanner_.raw(n * sizes().at(value_type), "an array");
  }

  /// Strings of a binary file are preceded by their length in one, two, four or eight bytes, selected by the first two
  /// bits.
  void skip_strings(std::uint64_t n) {
    scanner_.remaining_line();
    for (std::uint64_t i = 0; i < n; ++i) {
      if (!binary_) {
        if (scanner_.at_end()) scanner_.fail("expected more texts, found the end of the file: it is truncated");
        scanner_.remaining_line();
        continue;
      }
      const auto first = static_cast<unsigned char>(scanner_.raw(1, "the length of a text").front());
      std::uint64_t length = first & 0x3FU;
      for (unsigned more = (1U << (3U - (first >> 6U))) - 1U; more > 0; --more) {
        length = length << 8U | static_cast<unsigned char>(scanner_.raw(1, "the length of a text").front());
      }
      scanner_.raw(length, "a text");
    }
  }

  void skip_values(const std::string& value_type, std::uint64_t n) {
    if (value_type.ends_with("string")) return skip_strings(n);
    if (binary_) {
      raw_values(value_type == "bit" ? "char" : value_type, value_type == "bit" ? (n + 7) / 8 : n);
      return;
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      if (scanner_.word().empty()) scanner_.fail("expected more values, found the end of the file: it is truncated");
    }
  }

  template <class Value>
  std::vector<Value> values(const std::string& value_type, std::uint64_t n) {
    if (binary_) return stored_values<Value>(value_type, n);
    scanner_.check_count("values", n, UINT64_MAX, 2);
    std::vector<Value> list(n);
    for (Value& value : list) {
      if constexpr (std::is_floating_point_v<Value>) {
        value = scanner_.number("a finite number");
      } else {
        value = scanner_.integer("an integer");
      }
    }
    return list;
  }

  template <class Value>
  std::vector<Value> stored_values(const std::string& t, std::uint64_t n) {
    const std::string_view bytes = raw_values(t, n);
    ByteReader reader(options_.name, bytes, 0, true);
    std::vector<Value> list(n);
    for (Value& value : list) {
      if constexpr (std::is_floating_point_v<Value>) {
        if (t == "float" || t == "double") {
          value = checked(t == "float" ? static_cast<double>(reader.read<float>(t)) : reader.read<double>(t));
          continue;
        }
      } else if (t == "float" || t == "double") {
        scanner_.fail(fmt::format("expected integers, found values of type {}", t));
      }
      if (t == "char" || t == "signed_char")
        // The VTK type char is a signed 8-bit integer.
        value = static_cast<Value>(reader.read<std::int8_t>(t));  // NOLINT(bugprone-signed-char-misuse)
      else if (t == "unsigned_char")
        value = static_cast<Value>(reader.read<std::uint8_t>(t));
      else if (t == "short")
        value = static_cast<Value>(reader.read<std::int16_t>(t));
      else if (t == "unsigned_short")
        value = static_cast<Value>(reader.read<std::uint16_t>(t));
      else if (t == "unsigned_int")
        value = static_cast<Value>(reader.read<std::uint32_t>(t));
      else if (sizes().at(t) == 8)
        value = static_cast<Value>(reader.read<std::int64_t>(t));
      else
        value = static_cast<Value>(reader.read<std::int32_t>(t));
    }
    return list;
  }

  double checked(double value) const {
    if (!std::isfinite(value)) scanner_.fail(fmt::format("expected a finite number, found {}", value));
    return value;
  }

  const ReadOptions& options_;
  Scanner scanner_;
  VtkGrid grid_;                              ///< also of polygons: points and arrays
  std::map<std::string, VtkPolygons> cells_;  ///< of polygons: vertices, lines, polygons, triangle_strips
  bool binary_ = false;
  std::vector<VtkArray>* arrays_ = nullptr;
  std::size_t n_items_ = 0;
};

}  // namespace

bool is_vtk_legacy_surface(std::string_view bytes) {
  // Version, title, encoding; fields may precede the data set type, but no known program writes them there.
  const std::string begin = lower_case(bytes.substr(0, 1024));
  const std::size_t kind = begin.find("dataset");
  return kind != std::string::npos && trimmed(std::string_view(begin).substr(kind + 7)).starts_with("polydata");
}

SurfaceMesh read_vtk_legacy_surface(std::string_view bytes, const ReadOptions& options) {
  return LegacyReader(bytes, options).read_polygons();
}

VolumeMesh read_vtk_legacy(std::string_view bytes, const ReadOptions& options) {
  return LegacyReader(bytes, options).read_grid();
}

}  // namespace heelstrike::fem::io
