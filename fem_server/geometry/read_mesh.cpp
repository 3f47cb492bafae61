#include "fem_server/geometry/read_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"
#include "fem_server/geometry/surface_repair.hpp"

namespace heelstrike::fem {

namespace {

struct Format {
  std::string_view name;
  SurfaceMesh (*surface)(std::string_view, const ReadOptions&);
  VolumeMesh (*volume)(std::string_view, const ReadOptions&);
};

constexpr std::array<Format, 8> formats{{{"stl", io::read_stl, nullptr},
                                         {"obj", io::read_obj, nullptr},
                                         {"ply", io::read_ply, nullptr},
                                         {"vtp", io::read_vtp, nullptr},
                                         {"msh", nullptr, io::read_gmsh},
                                         {"inp", nullptr, io::read_abaqus},
                                         {"vtu", nullptr, io::read_vtu},
                                         {"vtk", nullptr, io::read_vtk_legacy}}};

/// Files that people rename by mistake.
std::string_view foreign_kind(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x89PNG"sv)) return "a PNG image";
  if (bytes.starts_with("\xff\xd8\xff"sv)) return "a JPEG image";
  if (bytes.starts_with("%PDF"sv)) return "a PDF document";
  if (bytes.starts_with("PK\x03\x04"sv)) return "a ZIP archive; unpack it first";
  if (bytes.starts_with("\x1f\x8b"sv)) return "gzip-compressed; unpack it first";
  if (bytes.starts_with("\x7f"
                        "ELF"sv)) {
    return "a program";
  }
  return {};
}

std::string_view format_from_content(std::string_view bytes) {
  const std::string_view text = io::trimmed(bytes.substr(0, 1024));
  if (text.starts_with("$MeshFormat")) return "msh";
  if (text.starts_with("# vtk DataFile")) return "vtk";
  if (text.starts_with("ply")) return "ply";
  if (text.starts_with("<") && text.find("\"PolyData\"") != std::string_view::npos) return "vtp";
  if (text.starts_with("<") && text.find("\"UnstructuredGrid\"") != std::string_view::npos) return "vtu";
  if (text.starts_with("solid")) return "stl";
  if (text.starts_with("*")) return "inp";
  return {};
}

const Format& find_format(std::string_view bytes, const ReadOptions& options) {
  std::string name = io::lower_case(options.format);
  if (name.empty() && options.name.find('.') != std::string::npos) name = mesh_format(options.name);
  if (name.empty()) name = format_from_content(bytes);
  for (const Format& format : formats) {
    if (format.name == name) return format;
  }
  throw input_error(options.name,
                    fmt::format("{}: expected a mesh of format stl, obj, ply, vtp (surfaces), msh, inp, vtu or vtk "
                                "(volumes), found '{}'; name the format or use its file extension",
                                options.name, name));
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
  if (const auto kind = foreign_kind(bytes); !kind.empty()) {
    throw input_error(options.name, fmt::format("{}, byte 0: expected a mesh, found {}", options.name, kind));
  }
}

void scale(std::vector<Vector3>& points, const ReadOptions& options) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    Vector3& point = points[i];
    point *= options.length_scale;
    // Cubes of larger coordinates leave the range in which volumes mean anything.
    constexpr double largest = 1e9;
    if (!(point.cwiseAbs().maxCoeff() <= largest)) {
      throw input_error(
          "length_scale",
          fmt::format("{}, point {} (of the different ones, counted from 0): expected coordinates within {} m, "
                      "found ({}, {}, {}) m with length_scale = {}",
                      options.name, i, largest, point.x(), point.y(), point.z(), options.length_scale));
    }
  }
}

/// What a format's reader finds, with the words of the file that a message quotes made fit to be read.
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

bool is_volume_format(std::string_view name) {
  const std::string wanted = mesh_format(name);
  return std::ranges::any_of(formats, [&](const Format& f) { return f.volume != nullptr && f.name == wanted; });
}

SurfaceMesh read_surface(std::string_view bytes, const ReadOptions& options) {
  check_options(bytes, options);
  const Format& format = find_format(bytes, options);
  if (format.surface == nullptr) {
    throw input_error(options.name,
                      fmt::format("{}: expected a surface (stl, obj, ply, vtp), found the volume format '{}'",
                                  options.name, format.name));
  }
  SurfaceMesh mesh = read_with(format.surface, bytes, options);
  scale(mesh.vertices, options);
  if (options.merge_tolerance > 0.0) {
    const std::size_t n = merge_near_vertices(mesh, options.merge_tolerance);
    if (n > 0) mesh.notes.push_back(fmt::format("{} vertices were merged within {} m", n, options.merge_tolerance));
  }
  return mesh;
}

VolumeMesh read_volume(std::string_view bytes, const ReadOptions& options) {
  check_options(bytes, options);
  const Format& format = find_format(bytes, options);
  if (format.volume == nullptr) {
    throw input_error(
        options.name,
        fmt::format("{}: expected a volume mesh (msh, inp, vtu, vtk), found the surface format '{}'; mesh it first",
                    options.name, format.name));
  }
  VolumeMesh mesh = read_with(format.volume, bytes, options);
  scale(mesh.nodes, options);
  return mesh;
}

}  // namespace heelstrike::fem
