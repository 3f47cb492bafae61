// COLLADA 1.4 and 1.5 (.dae): triangles and polygons of the scene, in metres and in the axes of the file. `up_axis` is
// the orientation of a scene, not of the axes of a part; like importers of robots, this reader ignores it. Materials,
// normals, animations and cameras are not read.
#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <map>
#include <numbers>
#include <pugixml.hpp>
#include <vector>

#include "common/text/markup.hpp"
#include "fem_server/geometry/io/mesh_builders.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"

namespace heelstrike::fem::io {

namespace {

using XmlNode = pugi::xml_node;

class ColladaFile {
 public:
  ColladaFile(std::string_view bytes, const ReadOptions& options) : options_(options), builder_(options) {
    check_xml_nesting(bytes, options.name, options.name);
    const auto result = document_.load_buffer(bytes.data(), bytes.size());
    if (!result) {
      fail_at_line(options.name, line_of_offset(bytes, static_cast<std::size_t>(result.offset)),
                   fmt::format("expected COLLADA, found invalid XML: {}", result.description()));
    }
    if (!root()) fail_at_line(options.name, 1, "expected the element COLLADA");
    collect(root());
    read_unit(root().child("asset").child("unit").attribute("meter"));
  }

  [[nodiscard]] SurfaceMesh read() {
    const Eigen::Affine3d here = Eigen::Affine3d::Identity();
    if (const XmlNode scene = root().child("scene").child("instance_visual_scene")) {
      const XmlNode shown = named(scene, "url", "visual_scene");
      for (const XmlNode node : shown.children("node")) add_node(node, here, 0);
    } else {
      for (const XmlNode geometry : root().child("library_geometries").children("geometry"))
        add_geometry(geometry, here);
    }
    const std::string up = root().child("asset").child_value("up_axis");
    if (!up.empty() && up != "Z_UP")
      builder_.add_note(fmt::format("up_axis {} was not applied: axes are those of the file", up));
    return builder_.finish();
  }

 private:
  /// Programs in some languages write a decimal comma.
  void read_unit(pugi::xml_attribute meter) {
    if (!meter) return;
    std::string text(trimmed(meter.value()));
    const std::size_t comma = text.find(',');
    if (comma != std::string::npos) text[comma] = '.';
    if (!parse_number(text, meter_) || !(meter_ > 0.0)) {
      fail(root(), fmt::format("expected a unit above 0 m in 'meter', found {}", quoted(meter.value())));
    }
    if (comma != std::string::npos)
      builder_.add_note(fmt::format("the unit '{}' was read as {} m", meter.value(), meter_));
  }

  [[nodiscard]] XmlNode root() const { return document_.child("COLLADA"); }
  [[noreturn]] void fail(XmlNode element, const std::string& what) const {
    const std::string id = element.attribute("id").value();
    fail_at_line(options_.name, 1,
                 fmt::format("{}{}: {}", element.name(), id.empty() ? "" : " " + quoted(std::string_view(id)), what));
  }

  void collect(XmlNode element) {
    for (const XmlNode child : element.children()) {
      if (const auto id = child.attribute("id")) by_id_.emplace(id.value(), child);
      collect(child);
    }
  }

  /// Resolves a reference "#id" within the file. @param kind  name of the target element
  [[nodiscard]] XmlNode named(XmlNode from, const char* attribute, std::string_view kind) const {
    const std::string_view reference = from.attribute(attribute).value();
    const auto found = by_id_.find(reference.substr(reference.starts_with('#') ? 1 : 0));
    if (found != by_id_.end() && found->second.name() == kind) return found->second;
    fail(from, fmt::format("expected a {} of this file in '{}', found {}", kind, attribute, quoted(reference)));
  }

  [[nodiscard]] std::uint64_t count(XmlNode element, const char* attribute, std::uint64_t fallback) const {
    if (!element.attribute(attribute)) return fallback;
    const std::string_view text = trimmed(element.attribute(attribute).value());
    std::int64_t value = 0;
    if (parse_integer(text, value) && value >= 0) return static_cast<std::uint64_t>(value);
    fail(element, fmt::format("expected a whole number in '{}', found {}", attribute, quoted(text)));
  }

  [[nodiscard]] std::vector<double> numbers(XmlNode element, std::size_t least) const {
    std::vector<double> all;
    Scanner scanner(options_.name, element.child_value());
    for (auto word = scanner.word(); !word.empty(); word = scanner.word()) {
      if (double value = 0.0; parse_number(word, value)) {
        all.push_back(value);
      } else {
        fail(element, fmt::format("expected finite numbers, found {}", quoted(word)));
      }
    }
    if (all.size() < least) fail(element, fmt::format("expected {} numbers, found {}", least, all.size()));
    return all;
  }

  /// The transformations of a node, in the order of the file.
  [[nodiscard]] Eigen::Affine3d transform_of(XmlNode node) const {
    Eigen::Affine3d X = Eigen::Affine3d::Identity();
    for (const XmlNode step : node.children()) {
      const std::string_view kind = step.name();
      if (kind == "matrix") {
        const auto m = numbers(step, 16);
        X = X * Eigen::Affine3d(Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(m.data()));
      } else if (kind == "translate") {
        const auto v = numbers(step, 3);
        X = X * Eigen::Translation3d(v[0], v[1], v[2]);
      } else if (kind == "rotate") {
        const auto v = numbers(step, 4);
        const Vector3 axis(v[0], v[1], v[2]);
        if (axis.norm() > 0.0) X = X * Eigen::AngleAxisd(v[3] * std::numbers::pi / 180.0, axis.normalized());
      } else if (kind == "scale") {
        const auto v = numbers(step, 3);
        X = X * Eigen::Scaling(v[0], v[1], v[2]);
      } else if (kind == "skew" || kind == "lookat") {
        fail(node,
             fmt::format("expected matrix, translate, rotate and scale, found {}; export it with matrices", kind));
      }
    }
    return X;
  }

  void add_node(XmlNode node, const Eigen::Affine3d& outer, std::size_t depth) {
    constexpr std::size_t max_scene_nodes = 1'000'000;
    if (depth > max_xml_depth || ++n_nodes_ > max_scene_nodes) fail(node, "expected nodes without cyclic references");
    const Eigen::Affine3d X = outer * transform_of(node);
    for (const XmlNode child : node.children()) {
      const std::string_view kind = child.name();
      if (kind == "node") add_node(child, X, depth + 1);
      if (kind == "instance_node") add_node(named(child, "url", "node"), X, depth + 1);
      if (kind == "instance_geometry") add_geometry(named(child, "url", "geometry"), X);
      if (kind == "instance_controller") {
        add_geometry(named(named(child, "url", "controller").child("skin"), "source", "geometry"), X);
      }
    }
  }

  void add_geometry(XmlNode geometry, const Eigen::Affine3d& X) {
    const XmlNode mesh = geometry.child("mesh");
    if (!mesh) fail(geometry, "expected a mesh, found another kind of geometry; export it as a mesh");
    const bool mirrored = X.linear().determinant() < 0.0;
    std::map<std::string, Positions> known;
    for (const XmlNode primitives : mesh.children()) {
      if (!primitives.child("p")) continue;
      const XmlNode input = primitives.find_child_by_attribute("input", "semantic", "VERTEX");
      if (!input) fail(primitives, "expected an input with the semantic VERTEX");
      const std::string_view kind = primitives.name();
      if (kind == "lines" || kind == "linestrips") continue;
      const auto [positions, is_new] = known.try_emplace(input.attribute("source").value());
      if (is_new) positions->second = add_positions(mesh, named(input, "source", "vertices"), X);
      add_primitives(primitives, positions->second, mirrored);
    }
  }

  /// Index range of vertices that were added together.
  struct Positions {
    std::uint32_t first = 0, count = 0;
  };

  [[nodiscard]] Positions add_positions(XmlNode mesh, XmlNode vertices, const Eigen::Affine3d& X) {
    const XmlNode input = vertices.find_child_by_attribute("input", "semantic", "POSITION");
    if (!input) fail(mesh, "expected vertices with the semantic POSITION");
    const XmlNode source = named(input, "source", "source");
    const std::vector<double> values = numbers(source.child("float_array"), 0);
    const XmlNode accessor = source.child("technique_common").child("accessor");
    const std::uint64_t stride = count(accessor, "stride", 3), offset = count(accessor, "offset", 0);
    if (stride < 3) fail(source, fmt::format("expected three coordinates or more per point, found {}", stride));
    const auto first = static_cast<std::uint32_t>(builder_.n_vertices());
    for (std::size_t i = offset; i + 2 < values.size(); i += stride) {
      const Vector3 p = X * Vector3(values[i], values[i + 1], values[i + 2]);
      builder_.add_vertex(meter_ * p, {"vertex", builder_.n_vertices()});
    }
    return {.first = first, .count = static_cast<std::uint32_t>(builder_.n_vertices()) - first};
  }

  void add_primitives(XmlNode primitives, const Positions& positions, bool mirrored) {
    std::size_t stride = 1, vertex = 0;
    for (const XmlNode input : primitives.children("input")) {
      const std::uint64_t offset = count(input, "offset", 0);
      constexpr std::size_t max_inputs = 64;
      if (offset >= max_inputs)
        fail(primitives, fmt::format("expected offsets below {}, found {}", max_inputs, offset));
      stride = std::max(stride, offset + 1);
      if (std::string_view(input.attribute("semantic").value()) == "VERTEX") vertex = offset;
    }
    for (XmlNode p = primitives.child("p"); p; p = p.next_sibling("p")) {
      std::vector<std::uint32_t> corners;
      Scanner scanner(options_.name, p.child_value());
      std::size_t i = 0;
      for (auto word = scanner.word(); !word.empty(); word = scanner.word(), ++i) {
        std::int64_t index = 0;
        if (!parse_integer(word, index)) fail(primitives, fmt::format("expected indices, found {}", quoted(word)));
        if (i % stride != vertex) continue;
        if (index < 0 || index >= static_cast<std::int64_t>(positions.count)) {
          fail(primitives, fmt::format("expected indices below {}, found {}", positions.count, index));
        }
        corners.push_back(positions.first + static_cast<std::uint32_t>(index));
      }
      add_corners(primitives, corners, mirrored);
    }
  }

  /// Triangles of one `p`, or one polygon of several.
  void add_corners(XmlNode primitives, const std::vector<std::uint32_t>& corners, bool mirrored) {
    const std::string_view kind = primitives.name();
    const Place place{"polygon", corners.empty() ? 0 : corners.front()};
    const auto add = [&](std::vector<std::uint32_t> polygon) {
      if (mirrored) std::reverse(polygon.begin(), polygon.end());
      builder_.add_polygon(polygon, place);
    };
    if (kind == "triangles") {
      for (std::size_t i = 0; i + 2 < corners.size(); i += 3) add({corners[i], corners[i + 1], corners[i + 2]});
    } else if (kind == "trifans" || kind == "tristrips") {
      for (std::size_t i = 0; i + 2 < corners.size(); ++i) {
        const std::size_t a = kind == "trifans" ? 0 : i;
        // Every second triangle of a strip has reversed winding.
        const bool reversed = kind == "tristrips" && i % 2 == 1;
        add({corners[reversed ? i + 1 : a], corners[reversed ? a : i + 1], corners[i + 2]});
      }
    } else if (kind == "polylist") {
      std::size_t at = 0;
      for (const double n : numbers(primitives.child("vcount"), 0)) {
        const auto count = static_cast<std::size_t>(n);
        if (!(n >= 0.0) || at + count > corners.size()) fail(primitives, "expected the number of corners in 'vcount'");
        if (count >= 3)
          add({corners.begin() + static_cast<std::ptrdiff_t>(at),
               corners.begin() + static_cast<std::ptrdiff_t>(at + count)});
        at += count;
      }
    } else if (!corners.empty()) {
      add(corners);
    }
  }

  const ReadOptions& options_;
  SurfaceBuilder builder_;
  pugi::xml_document document_;
  std::map<std::string, XmlNode, std::less<>> by_id_;
  double meter_ = 1.0;
  std::size_t n_nodes_ = 0;
};

}  // namespace

SurfaceMesh read_collada(std::string_view bytes, const ReadOptions& options) {
  return ColladaFile(bytes, options).read();
}

}  // namespace heelstrike::fem::io
