// Legacy VTK files with an unstructured grid, ASCII and binary (big endian), versions 1 to 5.1.
#include <fmt/format.h>

#include <map>

#include "common/errors/error.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"
#include "fem_server/geometry/io/vtk_grid.hpp"

namespace heelstrike::fem::io {

namespace {

class LegacyReader {
 public:
  LegacyReader(std::string_view bytes, const ReadOptions& options)
      : options_(options), scanner_(options.name, bytes), builder_(options) {}

  VolumeMesh read() {
    read_header();
    for (std::string_view word = scanner_.word(); !word.empty(); word = scanner_.word()) read_section(lower_case(word));
    if (grid_.types.size() != grid_.offsets.size()) {
      scanner_.fail(fmt::format("expected {} cell types, found {}: the file is truncated", grid_.offsets.size(),
                                grid_.types.size()));
    }
    add_grid(grid_, options_, builder_);
    return builder_.finish();
  }

 private:
  void read_header() {
    const std::string_view first = scanner_.rest_of_line();
    if (!first.starts_with("# vtk DataFile Version"))
      scanner_.fail("expected '# vtk DataFile Version' in the first line");
    scanner_.rest_of_line();  // title
    const std::string_view encoding = scanner_.rest_of_line();
    if (encoding != "ASCII" && encoding != "BINARY") scanner_.fail_expected("ASCII or BINARY", encoding);
    binary_ = encoding == "BINARY";
    if (const auto word = scanner_.word(); lower_case(word) != "dataset") scanner_.fail_expected("DATASET", word);
    const std::string_view kind = scanner_.word();
    if (lower_case(kind) != "unstructured_grid") scanner_.fail_expected("UNSTRUCTURED_GRID", kind);
  }

  void read_section(const std::string& section) {
    if (section == "points") {
      const std::uint64_t n = scanner_.count("the number of points", options_.limits.max_nodes);
      grid_.points = values<double>(type(), 3 * n);
    } else if (section == "cells") {
      read_cells();
    } else if (section == "cell_types") {
      const std::uint64_t n = scanner_.count("the number of cells");
      check_limit(options_.name, "cells", n, options_.limits.max_elements);
      grid_.types = values<std::int64_t>("int", n);
    } else if (section == "cell_data") {
      start_data(grid_.cell_arrays, grid_.types.size());
    } else if (section == "point_data") {
      start_data(grid_.point_arrays, grid_.points.size() / 3);
    } else if (section == "metadata") {
      while (!scanner_.at_end() && !scanner_.rest_of_line().empty()) {
      }
    } else {
      read_attribute(section);
    }
  }

  void start_data(std::vector<VtkArray>& arrays, std::size_t expected) {
    const std::uint64_t n = scanner_.count("the number of values");
    if (n != expected) scanner_.fail(fmt::format("expected data of {} items, found {}", expected, n));
    arrays_ = &arrays;
    n_items_ = expected;
  }

  void read_cells() {
    const std::uint64_t first = scanner_.count("the number of cells");
    const std::uint64_t second = scanner_.count("the size of the list of cells");
    check_limit(options_.name, "cells", first, options_.limits.max_elements + 1);
    constexpr std::uint64_t values_per_cell = 30;
    check_limit(options_.name, "corners", second, values_per_cell * options_.limits.max_elements);
    const std::size_t offset = scanner_.offset();
    const std::size_t line = scanner_.line();
    if (lower_case(scanner_.word()) == "offsets") {
      grid_.offsets = values<std::int64_t>(type(), first);
      if (const auto word = scanner_.word(); lower_case(word) != "connectivity")
        scanner_.fail_expected("CONNECTIVITY", word);
      grid_.connectivity = values<std::int64_t>(type(), second);
      if (grid_.offsets.empty() || grid_.offsets.front() != 0) scanner_.fail("expected offsets that start with 0");
      grid_.offsets.erase(grid_.offsets.begin());
      return;
    }
    scanner_.rewind(offset, line);
    const std::vector<std::int64_t> list = values<std::int64_t>("int", second);
    std::size_t at = 0;
    for (std::uint64_t cell = 0; cell < first; ++cell) {
      const std::int64_t n = at < list.size() ? list[at] : -1;
      if (n < 0 || static_cast<std::uint64_t>(n) >= list.size() - at) {
        scanner_.fail(fmt::format("cell {}: expected its number of points and its points, the list ends before", cell));
      }
      ++at;
      const auto begin = list.begin() + static_cast<std::ptrdiff_t>(at);
      grid_.connectivity.insert(grid_.connectivity.end(), begin, begin + n);
      at += static_cast<std::size_t>(n);
      grid_.offsets.push_back(static_cast<std::int64_t>(grid_.connectivity.size()));
    }
  }

  void read_attribute(const std::string& kind) {
    if (kind == "field") {
      read_field();
      return;
    }
    const std::string name(scanner_.word());
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
      store(name, type(), n_components * n_tuples);
    }
  }

  /// Keeps an array that tells sets, skips any other.
  void store(const std::string& name, const std::string& value_type, std::uint64_t n) {
    const bool integer = value_type != "float" && value_type != "double";
    if (arrays_ != nullptr && integer && n == n_items_ && is_set_array(name)) {
      arrays_->push_back({name, values<std::int64_t>(value_type, n)});
    } else {
      skip_values(value_type, n);
    }
  }

  /// Name of a type of values, in lower case.
  std::string type() {
    std::string name = lower_case(scanner_.word());
    if (!sizes().contains(name)) scanner_.fail_expected("a VTK type such as float or int", name);
    return name;
  }

  static const std::map<std::string, std::size_t>& sizes() {
    static const std::map<std::string, std::size_t> table{
        {"char", 1},         {"unsigned_char", 1}, {"short", 2}, {"unsigned_short", 2},
        {"int", 4},          {"unsigned_int", 4},  {"long", 8},  {"unsigned_long", 8},
        {"vtktypeint64", 8}, {"vtkidtype", 4},     {"float", 4}, {"double", 8}};
    return table;
  }

  std::string_view raw_values(const std::string& value_type, std::uint64_t n) {
    scanner_.rest_of_line();
    return scanner_.raw(n * sizes().at(value_type), "an array");
  }

  void skip_values(const std::string& value_type, std::uint64_t n) {
    if (binary_) {
      raw_values(value_type, n);
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
      if (t == "char")
        // VTK's char is a small signed integer.
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
  VolumeBuilder builder_;
  VtkGrid grid_;
  bool binary_ = false;
  std::vector<VtkArray>* arrays_ = nullptr;
  std::size_t n_items_ = 0;
};

}  // namespace

VolumeMesh read_vtk_legacy(std::string_view bytes, const ReadOptions& options) {
  return LegacyReader(bytes, options).read();
}

}  // namespace heelstrike::fem::io
