#include "fem_server/geometry/read_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/git_lfs.hpp"
#include "common/text/text_file.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"
#include "fem_server/geometry/surface_repair.hpp"

namespace heelstrike::fem {

namespace {

/// Tests the start of a file. @param text  trimmed, at most a kilobyte
bool is_vtk_xml(std::string_view text, std::string_view kind) {
  return text.starts_with("<") && text.find(kind) != std::string_view::npos;
}

/// Complete descriptor of a format: name, readers, and the detector for files without extension. The kind of mesh
/// follows from the reader; a format with two readers is classified by its content.
struct Format {
  std::string_view name;
  SurfaceMesh (*surface)(std::string_view, const ReadOptions&);
  VolumeMesh (*volume)(std::string_view, const ReadOptions&);
  bool (*recognised)(std::string_view text);
  bool (*is_surface)(std::string_view bytes) = nullptr;

  [[nodiscard]] bool supports(MeshKind kind) const {
    return kind == MeshKind::surface ? surface != nullptr : volume != nullptr;
  }
  [[nodiscard]] MeshKind kind_of(std::string_view bytes) const {
    const bool has_surface = is_surface != nullptr ? is_surface(bytes) : surface != nullptr;
    return has_surface ? MeshKind::surface : MeshKind::volume;
  }
};

constexpr auto formats = std::to_array<Format>(
    {{"stl", io::read_stl, nullptr, [](std::string_view text) { return io::lower_case(text.substr(0, 5)) == "solid"; }},
     {"obj", io::read_obj, nullptr, [](std::string_view /*text*/) { return false; }},
     {"ply", io::read_ply, nullptr, [](std::string_view text) { return text.starts_with("ply"); }},
     {"vtp", io::read_vtp, nullptr, [](std::string_view text) { return is_vtk_xml(text, "\"PolyData\""); }},
     {"dae", io::read_collada, nullptr,
      [](std::string_view text) { return text.starts_with("<") && text.find("<COLLADA") != std::string_view::npos; }},
     {"msh", nullptr, io::read_gmsh,
      [](std::string_view text) { return text.starts_with("$MeshFormat") || text.starts_with("$NOD"); }},
     {"inp", nullptr, io::read_abaqus, [](std::string_view text) { return text.starts_with("*"); }},
     {"vtu", nullptr, io::read_vtu, [](std::string_view text) { return is_vtk_xml(text, "\"UnstructuredGrid\""); }},
     {"vtk", io::read_vtk_legacy_surface, io::read_vtk_legacy,
      [](std::string_view text) { return text.starts_with("# vtk DataFile"); }, io::is_vtk_legacy_surface}});

const Format* find_name(std::string_view name) {
  const auto found = std::ranges::find(formats, name, &Format::name);
  return found == formats.end() ? nullptr : &*found;
}

/// Common foreign formats with a wrong extension.
std::string_view detect_foreign_format(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x89PNG"sv)) return "a PNG image";
  if (bytes.starts_with("\xff\xd8\xff"sv)) return "a JPEG image";
  if (bytes.starts_with("%PDF"sv)) return "a PDF document";
  if (is_git_lfs_pointer(bytes)) return git_lfs_remedy;
  if (bytes.starts_with("PK\x03\x04"sv)) return "a ZIP archive; unpack it first";
  if (bytes.starts_with("\x1f\x8b"sv)) return "gzip-compressed; unpack it first";
  if (bytes.starts_with("\x7f"
                        "ELF"sv)) {
    return "a program";
  }
  return {};
}

const Format& find_format(std::string_view bytes, const ReadOptions& options) {
  std::string name = io::lower_case(options.format);
  if (name.empty() && options.name.find('.') != std::string::npos) name = mesh_format(options.name);
  const Format* format = find_name(name);
  if (name.empty()) {
    const std::string_view text = io::trimmed(bytes.substr(0, 1024));
    const auto found = std::ranges::find_if(formats, [&](const Format& f) { return f.recognised(text); });
    if (found != formats.end()) format = &*found;
  }
  if (format != nullptr) return *format;
  throw input_error(
      options.name,
      fmt::format("{}: expected a mesh of format {} (surfaces), {} (volumes), found '{}'; specify "
                  "the format or use its file extension",
                  options.name, mesh_format_names(MeshKind::surface), mesh_format_names(MeshKind::volume), name));
}

void check_options(std::string_view bytes, const ReadOptions& options) {
  if (!(options.length_scale > 0.0) || !std::isfinite(options.length_scale)) {
    throw input_error("length_scale",
                      fmt::format("length_scale: expected a length in metres per file unit above 0, found {} m",
                                  options.length_scale));
  }
  if (!(options.merge_tolerance >= 0.0) || !std::isfinite(options.merge_tolerance)) {
    throw input_error("merge_tolerance",
                      fmt::format("merge_tolerance: expected a length >= 0 m, found {} m", options.merge_tolerance));
  }
  if (bytes.empty()) throw input_error(options.name, fmt::format("{}: the file is empty", options.name));
  if (const auto kind = detect_foreign_format(bytes); !kind.empty()) {
    throw input_error(options.name, fmt::format("{}, byte 0: expected a mesh, found {}", options.name, kind));
  }
}

void scale(std::vector<Vector3>& points, const ReadOptions& options) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    Vector3& point = points[i];
    point *= options.length_scale;
    // Volumes of larger coordinates exceed the useful range of doubles.
    constexpr double largest = 1e9;
    if (!(point.cwiseAbs().maxCoeff() <= largest)) {
      throw input_error("length_scale",
                        fmt::format("{}, point {} (distinct points, counted from 0): expected coordinates within {} m, "
                                    "found ({}, {}, {}) m with length_scale = {}",
                                    options.name, i, largest, point.x(), point.y(), point.z(), options.length_scale));
    }
  }
}

/// Runs the reader of a format and sanitises file content quoted in its messages.
template <typename Mesh>
Mesh read_with(Mesh (*reader)(std::string_view, const ReadOptions&), std::string_view bytes,
               const ReadOptions& options) {
  try {
    return reader(bytes, options);
  } catch (const Error& error) {
    throw Error(error.code(), printable(error.what()), error.field());
  }
}

}  // namespace

std::string mesh_format(std::string_view name) {
  return io::lower_case(name.substr(name.rfind('.') + 1));
}

std::string mesh_format_names(MeshKind kind) {
  std::string names;
  for (const Format& format : formats) {
    if (format.supports(kind)) names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  }
  return names;
}

std::optional<MeshKind> kind_of_format(std::string_view name) {
  const Format* format = find_name(mesh_format(name));
  if (format == nullptr || (format->supports(MeshKind::surface) && format->supports(MeshKind::volume))) return {};
  return format->supports(MeshKind::volume) ? MeshKind::volume : MeshKind::surface;
}

bool is_volume_mesh(std::string_view bytes, const ReadOptions& options) {
  check_options(bytes, options);
  const MarkedText text(bytes);
  return find_format(text.bytes(), options).kind_of(text.bytes()) == MeshKind::volume;
}

SurfaceMesh read_surface(std::string_view bytes, const ReadOptions& options) {
  check_options(bytes, options);
  const MarkedText text(bytes);
  const Format& format = find_format(text.bytes(), options);
  if (format.kind_of(text.bytes()) != MeshKind::surface) {
    throw input_error(options.name, fmt::format("{}: expected a surface ({}), found the volume format '{}'",
                                                options.name, mesh_format_names(MeshKind::surface), format.name));
  }
  SurfaceMesh mesh = read_with(format.surface, text.bytes(), options);
  if (!text.note().empty()) mesh.notes.push_back(text.note());
  scale(mesh.vertices, options);
  if (options.merge_tolerance > 0.0) {
    const std::size_t n = merge_near_vertices(mesh, options.merge_tolerance);
    if (n > 0) mesh.notes.push_back(fmt::format("{} vertices were merged within {} m", n, options.merge_tolerance));
  }
  return mesh;
}

SurfaceMesh read_outer_surface(std::string_view bytes, const ReadOptions& options) {
  if (!is_volume_mesh(bytes, options)) return read_surface(bytes, options);
  VolumeMesh volume = read_volume(bytes, options);
  SurfaceMesh surface = boundary_surface(volume).surface;
  surface.notes = std::move(volume.notes);
  surface.notes.push_back(fmt::format("the outer surface of {} {} was taken", volume.n_elements(),
                                      element_shapes(volume.nodes_per_element)));
  return surface;
}

VolumeMesh read_volume(std::string_view bytes, const ReadOptions& options) {
  check_options(bytes, options);
  const MarkedText text(bytes);
  const Format& format = find_format(text.bytes(), options);
  if (format.kind_of(text.bytes()) != MeshKind::volume) {
    throw input_error(options.name,
                      fmt::format("{}: expected a volume mesh ({}), found the surface format '{}'; mesh it first",
                                  options.name, mesh_format_names(MeshKind::volume), format.name));
  }
  VolumeMesh mesh = read_with(format.volume, text.bytes(), options);
  if (!text.note().empty()) mesh.notes.push_back(text.note());
  scale(mesh.nodes, options);
  return mesh;
}

}  // namespace heelstrike::fem
