// VTK XML files: PolyData (.vtp) and UnstructuredGrid (.vtu); ASCII, base64 and appended data in both byte orders,
// plain or compressed. Format: VTK user's guide, chapter "VTK file formats"; layout of compressed blocks:
// vtkXMLDataParser.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <pugixml.hpp>
#include <vector>

#include "common/errors/error.hpp"
#include "common/text/markup.hpp"
#include "fem_server/geometry/io/mesh_builders.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"
#include "fem_server/geometry/io/vtk_grid.hpp"

namespace heelstrike::fem::io {

namespace {

class VtkXmlFile {
 public:
  VtkXmlFile(std::string_view bytes, const ReadOptions& options, const char* kind) : options_(options) {
    std::string header(bytes);
    if (const std::size_t appended = bytes.find("<AppendedData"); appended != std::string_view::npos) {
      find_appended(bytes, appended);
      // Raw bytes are not XML: they are removed from the element before parsing.
      header = std::string(bytes.substr(0, appended)) + "</VTKFile>";
    }
    check_xml_nesting(header, options.name, options.name);
    const auto result =
        document_.load_buffer(header.data(), header.size(), pugi::parse_default | pugi::parse_ws_pcdata_single);
    if (!result)
      fail_at_byte(options.name, static_cast<std::size_t>(result.offset),
                   fmt::format("invalid VTK XML file: {}", result.description()));
    const pugi::xml_node root = document_.child("VTKFile");
    if (!root) fail_at_byte(options.name, 0, "expected a VTK XML file with the element VTKFile");
    check_root(root, kind);
    data_ = root.child(kind);
    if (!data_) fail_at_byte(options.name, 0, fmt::format("expected the element {}", kind));
  }

  [[nodiscard]] pugi::xml_node data() const { return data_; }

  /// A count attribute of `node`, within `limit`.
  [[nodiscard]] std::uint64_t count(pugi::xml_node node, const char* attribute, std::uint64_t limit,
                                    bool required) const {
    const pugi::xml_attribute found = node.attribute(attribute);
    if (!found && !required) return 0;
    std::int64_t value = -1;
    if (!parse_integer(trimmed(found.value()), value) || value < 0) {
      fail(node, fmt::format("expected the attribute {} with a count, found '{}'", attribute, found.value()));
    }
    check_limit(options_.name, attribute, static_cast<std::uint64_t>(value), limit);
    return static_cast<std::uint64_t>(value);
  }

  [[nodiscard]] pugi::xml_node array(pugi::xml_node parent, const char* name) const {
    const pugi::xml_node found = parent.find_child_by_attribute("DataArray", "Name", name);
    if (!found) fail(parent, fmt::format("expected a DataArray with Name='{}'", name));
    return found;
  }

  /// Exactly `n` values of a DataArray.
  template <class Value>
  [[nodiscard]] std::vector<Value> values(pugi::xml_node array, std::uint64_t n) const {
    const std::string format = array.attribute("format").value();
    const std::string type = array.attribute("type").value();
    if (format == "ascii" || format.empty()) {
      std::vector<Value> numbers = ascii_values<Value>(array, n);
      // VTK 9.3 writes the fewest digits that identify the number of single precision.
      if constexpr (std::is_floating_point_v<Value>) {
        if (type == "Float32")
          std::ranges::transform(numbers, numbers.begin(), [](Value x) { return static_cast<float>(x); });
      }
      return numbers;
    }
    if (type == "Int8") return binary_values<std::int8_t, Value>(array, n);
    if (type == "UInt8") return binary_values<std::uint8_t, Value>(array, n);
    if (type == "Int16") return binary_values<std::int16_t, Value>(array, n);
    if (type == "UInt16") return binary_values<std::uint16_t, Value>(array, n);
    if (type == "Int32") return binary_values<std::int32_t, Value>(array, n);
    if (type == "UInt32") return binary_values<std::uint32_t, Value>(array, n);
    if (type == "Int64") return binary_values<std::int64_t, Value>(array, n);
    if (type == "UInt64") return binary_values<std::uint64_t, Value>(array, n);
    if constexpr (std::is_floating_point_v<Value>) {
      if (type == "Float32") return binary_values<float, Value>(array, n);
      if (type == "Float64") return binary_values<double, Value>(array, n);
    }
    fail(array, fmt::format("expected {} values, found type '{}'",
                            std::is_floating_point_v<Value> ? "numeric" : "integer", type));
  }

  [[nodiscard]] std::vector<double> points(pugi::xml_node piece, std::uint64_t n) const {
    const pugi::xml_node array = piece.child("Points").child("DataArray");
    if (!array) fail(piece, "expected the element Points with a DataArray");
    if (std::string_view(array.attribute("NumberOfComponents").value()) != "3") {
      fail(array, "expected points with NumberOfComponents='3'");
    }
    return values<double>(array, 3 * n);
  }

  /// Integer arrays of CellData or PointData that define sets.
  [[nodiscard]] std::vector<VtkArray> set_arrays(pugi::xml_node parent, std::uint64_t n) const {
    std::vector<VtkArray> arrays;
    for (const pugi::xml_node array : parent.children("DataArray")) {
      const std::string name = array.attribute("Name").value();
      const std::string_view type = array.attribute("type").value();
      const std::string_view components = array.attribute("NumberOfComponents").as_string("1");
      if (!is_set_array(name) || type.starts_with("Float") || components != "1") continue;
      arrays.push_back({name, values<std::int64_t>(array, n)});
    }
    return arrays;
  }

  [[noreturn]] void fail(pugi::xml_node node, const std::string& message) const {
    const std::string name = node.attribute("Name").value();
    fail_at_byte(options_.name, static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)),
                 fmt::format("element {}{}: {}", node.name(), name.empty() ? "" : " '" + name + "'", message));
  }

 private:
  void find_appended(std::string_view bytes, std::size_t begin) {
    const std::size_t end_of_tag = bytes.find('>', begin);
    const std::size_t mark = end_of_tag == std::string_view::npos ? end_of_tag : bytes.find('_', end_of_tag);
    if (mark == std::string_view::npos) fail_at_byte(options_.name, begin, "expected '_' before the appended data");
    const std::string_view tag = bytes.substr(begin, end_of_tag - begin);
    appended_is_raw_ = tag.find("\"raw\"") != std::string_view::npos || tag.find("'raw'") != std::string_view::npos;
    appended_ = bytes.substr(mark + 1);
  }

  void check_root(pugi::xml_node root, const char* kind) {
    const std::string_view type = root.attribute("type").value();
    if (type != kind) fail(root, fmt::format("expected type='{}', found '{}'", kind, type));
    const std::string_view order = root.attribute("byte_order").as_string("LittleEndian");
    if (order != "LittleEndian" && order != "BigEndian")
      fail(root, fmt::format("expected byte_order LittleEndian or BigEndian, found '{}'", order));
    big_endian_ = order == "BigEndian";
    const std::string_view word = root.attribute("header_type").as_string("UInt32");
    if (word != "UInt32" && word != "UInt64")
      fail(root, fmt::format("expected header_type UInt32 or UInt64, found '{}'", word));
    header_bytes_ = word == "UInt64" ? 8 : 4;
    const std::string_view compressor = root.attribute("compressor").value();
    if (compressor.empty()) return;
    compressor_ = find_vtk_compressor(compressor);
    if (compressor_ == nullptr) {
      fail(root, fmt::format("expected no compression or one of {}, found '{}'; save the file accordingly",
                             vtk_compressor_names(), compressor));
    }
  }

  template <class Value>
  std::vector<Value> ascii_values(pugi::xml_node array, std::uint64_t n) const {
    Scanner scanner(options_.name, array.child_value());
    if (n > scanner.remaining() / 2 + 1) {
      fail(array, fmt::format("expected {} values, found {} characters", n, scanner.remaining()));
    }
    std::vector<Value> values(n);
    for (Value& value : values) {
      const std::string_view word = scanner.word();
      bool good = false;
      if constexpr (std::is_floating_point_v<Value>) {
        good = parse_number(word, value);
      } else {
        good = parse_integer(word, value);
      }
      if (!good) {
        fail(array, fmt::format("value {} of {}: expected {}, found {}", &value - values.data() + 1, n,
                                std::is_floating_point_v<Value> ? "a finite number" : "an integer", quoted(word)));
      }
    }
    if (!scanner.word().empty()) fail(array, fmt::format("expected {} values, found more", n));
    return values;
  }

  template <class Stored, class Value>
  std::vector<Value> binary_values(pugi::xml_node array, std::uint64_t n) const {
    const std::string bytes = payload(array, n * sizeof(Stored));
    ByteReader reader(options_.name, bytes, 0, big_endian_);
    std::vector<Value> values(n);
    for (Value& value : values) {
      value =
          static_cast<Value>(reader.read<Stored>("a value"));  // NOLINT(bugprone-signed-char-misuse): Int8 is a number
    }
    return values;
  }

  /// The first `n` bytes of the stream that belongs to an array.
  std::string stream(pugi::xml_node array, std::uint64_t n) const {
    const bool appended = std::string_view(array.attribute("format").value()) == "appended";
    std::string_view text = appended ? appended_ : std::string_view(array.child_value());
    if (appended) {
      const std::uint64_t offset = count(array, "offset", UINT64_MAX, true);
      if (offset > text.size())
        fail(array, fmt::format("offset {} lies beyond the appended data ({} bytes)", offset, text.size()));
      text.remove_prefix(offset);
    }
    std::string bytes;
    if (appended && appended_is_raw_) {
      bytes = text.substr(0, n);
    } else {
      bytes = decode_base64(text, n);
    }
    if (bytes.size() < n)
      fail(array,
           fmt::format("expected {} bytes of data, found {}: the file is truncated or corrupt", n, bytes.size()));
    return bytes;
  }

  [[nodiscard]] std::uint64_t header_word(const std::string& bytes, std::size_t i) const {
    ByteReader reader(options_.name, bytes, i * header_bytes_, big_endian_);
    return header_bytes_ == 8 ? reader.read<std::uint64_t>("a header") : reader.read<std::uint32_t>("a header");
  }

  std::string payload(pugi::xml_node array, std::uint64_t expected) const {
    const std::string format = array.attribute("format").value();
    if (format != "binary" && format != "appended")
      fail(array, fmt::format("expected format ascii, binary or appended, found '{}'", format));
    check_limit(options_.name, "bytes of a data array", expected, options_.limits.max_unpacked_bytes);
    if (compressor_ != nullptr) return unpacked(array, expected);
    const std::uint64_t found = header_word(stream(array, header_bytes_), 0);
    if (found != expected)
      fail(array, fmt::format("expected {} bytes of data, found {} in the header", expected, found));
    return stream(array, header_bytes_ + expected).substr(header_bytes_);
  }

  std::string unpacked(pugi::xml_node array, std::uint64_t expected) const {
    const std::uint64_t n_blocks = header_word(stream(array, header_bytes_), 0);
    if (n_blocks == 0 && expected == 0) return {};
    const std::size_t n_bytes = appended_.size() + std::string_view(array.child_value()).size();
    if (n_blocks == 0 || n_blocks > n_bytes / header_bytes_)
      fail(array, fmt::format("implausible number of blocks {}", n_blocks));
    const std::string header = stream(array, (3 + n_blocks) * header_bytes_);
    const std::uint64_t block_bytes = header_word(header, 1);
    const std::uint64_t last_bytes = header_word(header, 2);
    const std::uint64_t n_full = last_bytes == 0 ? n_blocks : n_blocks - 1;
    // An array smaller than a block is stored as one last block.
    if ((n_full > 0 && block_bytes > expected / n_full) || last_bytes > expected ||
        n_full * block_bytes + last_bytes != expected) {
      fail(array, fmt::format("expected {} bytes of data, found {} blocks of {} and a last one of {} in its header",
                              expected, n_blocks, block_bytes, last_bytes));
    }
    std::uint64_t packed_bytes = 0;
    for (std::uint64_t i = 0; i < n_blocks; ++i) {
      const std::uint64_t size = header_word(header, 3 + i);
      if (size > n_bytes) fail(array, fmt::format("block {} has a declared size of {} bytes", i, size));
      packed_bytes += size;
    }
    if (packed_bytes > n_bytes || expected / compressor_->max_ratio > packed_bytes)
      fail(array, "the sizes of its compressed blocks are implausible");
    const std::string packed = stream(array, header.size() + packed_bytes);
    return unpacked_blocks(array, header, packed, expected);
  }

  std::string unpacked_blocks(pugi::xml_node array, const std::string& header, const std::string& packed,
                              std::uint64_t expected) const {
    const std::uint64_t n_blocks = header_word(header, 0);
    std::string bytes(expected, '\0');
    std::size_t from = header.size();
    std::uint64_t to = 0;
    for (std::uint64_t i = 0; i < n_blocks; ++i) {
      const std::uint64_t last_bytes = header_word(header, 2);
      const std::uint64_t size = i + 1 == n_blocks && last_bytes != 0 ? last_bytes : header_word(header, 1);
      const std::uint64_t n_in = header_word(header, 3 + i);
      if (!compressor_->unpack(std::string_view(packed).substr(from, n_in), std::span(bytes).subspan(to, size))) {
        fail(array, fmt::format("compressed block {} is corrupt", i));
      }
      from += n_in;
      to += size;
    }
    return bytes;
  }

  const ReadOptions& options_;
  pugi::xml_document document_;
  pugi::xml_node data_;
  std::string_view appended_;
  bool appended_is_raw_ = false;
  bool big_endian_ = false;
  const VtkCompressor* compressor_ = nullptr;  ///< null = plain data
  std::size_t header_bytes_ = 4;
};

VtkPolygons read_polygons(const VtkXmlFile& file, pugi::xml_node node, std::uint64_t n, const ReadOptions& options) {
  VtkPolygons polygons;
  if (n == 0) return polygons;
  polygons.offsets = file.values<std::int64_t>(file.array(node, "offsets"), n);
  const std::int64_t last = polygons.offsets.back();
  if (last < 0) file.fail(node, fmt::format("the last offset is {}", last));
  constexpr std::uint64_t corners_per_cell = 30;
  check_limit(options.name, "corners", static_cast<std::uint64_t>(last),
              corners_per_cell * options.limits.max_elements);
  polygons.connectivity = file.values<std::int64_t>(file.array(node, "connectivity"), static_cast<std::uint64_t>(last));
  check_offsets(options.name, polygons.offsets, polygons.connectivity.size());
  return polygons;
}

void read_surface_piece(const VtkXmlFile& file, pugi::xml_node piece, const ReadOptions& options,
                        SurfaceBuilder& builder) {
  const std::uint64_t n_points = file.count(piece, "NumberOfPoints", options.limits.max_nodes, true);
  const std::uint64_t n_polygons = file.count(piece, "NumberOfPolys", options.limits.max_elements, false);
  const std::uint64_t n_strips = file.count(piece, "NumberOfStrips", options.limits.max_elements, false);
  for (const char* kind : {"NumberOfVerts", "NumberOfLines"}) {
    const std::uint64_t n = file.count(piece, kind, options.limits.max_elements, false);
    if (n > 0) builder.add_note(fmt::format("{} = {}: these cells do not form a surface and were omitted", kind, n));
  }
  if (n_points == 0) return;
  const std::size_t first_vertex = builder.n_vertices();
  const std::vector<double> points = file.points(piece, n_points);
  for (std::size_t i = 0; i < n_points; ++i) {
    builder.add_vertex({points[3 * i], points[3 * i + 1], points[3 * i + 2]}, {"point", i});
  }
  const pugi::xml_node polys = piece.child("Polys");
  const VtkPolygons polygons = read_polygons(file, polys, n_polygons, options);
  // Cell data count vertices, lines, polygons and strips in this order; groups are kept for files of polygons only.
  const bool only_polygons = n_strips == 0 && file.count(piece, "NumberOfVerts", UINT64_MAX, false) == 0 &&
                             file.count(piece, "NumberOfLines", UINT64_MAX, false) == 0;
  std::vector<VtkArray> sets;
  if (only_polygons) sets = file.set_arrays(piece.child("CellData"), n_polygons);
  add_polygons(polygons, first_vertex, sets, options, builder);
  const pugi::xml_node strips = piece.child("Strips");
  add_strips(read_polygons(file, strips, n_strips, options), first_vertex, options, builder);
}

VtkGrid read_volume_piece(const VtkXmlFile& file, pugi::xml_node piece, const ReadOptions& options) {
  VtkGrid grid;
  const std::uint64_t n_points = file.count(piece, "NumberOfPoints", options.limits.max_nodes, true);
  const std::uint64_t n_cells = file.count(piece, "NumberOfCells", options.limits.max_elements, true);
  if (n_points == 0 || n_cells == 0) return grid;
  grid.points = file.points(piece, n_points);
  const pugi::xml_node cells = piece.child("Cells");
  VtkPolygons polygons = read_polygons(file, cells, n_cells, options);
  grid.connectivity = std::move(polygons.connectivity);
  grid.offsets = std::move(polygons.offsets);
  grid.types = file.values<std::int64_t>(file.array(cells, "types"), n_cells);
  grid.cell_arrays = file.set_arrays(piece.child("CellData"), n_cells);
  grid.point_arrays = file.set_arrays(piece.child("PointData"), n_points);
  return grid;
}

/// Face sets written by write_vtu: field data "faces:NAME" with pairs (element, face).
void read_face_sets(const VtkXmlFile& file, const ReadOptions& options, VolumeMesh& mesh) {
  for (const pugi::xml_node array : file.data().child("FieldData").children("DataArray")) {
    const std::string_view name = array.attribute("Name").value();
    if (!name.starts_with("faces:")) continue;
    const std::uint64_t n = file.count(array, "NumberOfTuples", options.limits.max_elements, true);
    const std::vector<std::int64_t> pairs = file.values<std::int64_t>(array, 2 * n);
    auto& faces = mesh.face_sets[std::string(name.substr(6))];
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t element = pairs[2 * i];
      const std::int64_t face = pairs[2 * i + 1];
      if (element < 0 || element >= static_cast<std::int64_t>(mesh.n_elements()) || face < 0 ||
          face >= mesh.faces_per_element()) {
        file.fail(array, fmt::format("expected an element below {} and a face below {}, found {} and {}",
                                     mesh.n_elements(), mesh.faces_per_element(), element, face));
      }
      faces.push_back({static_cast<std::uint32_t>(element), static_cast<std::uint8_t>(face)});
    }
    std::sort(faces.begin(), faces.end());
    faces.erase(std::unique(faces.begin(), faces.end()), faces.end());
  }
}

}  // namespace

SurfaceMesh read_vtp(std::string_view bytes, const ReadOptions& options) {
  const VtkXmlFile file(bytes, options, "PolyData");
  SurfaceBuilder builder(options);
  for (const pugi::xml_node piece : file.data().children("Piece")) read_surface_piece(file, piece, options, builder);
  return builder.finish();
}

VolumeMesh read_vtu(std::string_view bytes, const ReadOptions& options) {
  const VtkXmlFile file(bytes, options, "UnstructuredGrid");
  VolumeBuilder builder(options);
  for (const pugi::xml_node piece : file.data().children("Piece")) {
    add_grid(read_volume_piece(file, piece, options), options, builder);
  }
  VolumeMesh mesh = builder.finish();
  read_face_sets(file, options, mesh);
  return mesh;
}

}  // namespace heelstrike::fem::io
