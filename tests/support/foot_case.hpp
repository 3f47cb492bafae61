/// The foot of the press test: the scan of the thesis, clamped at and above z = 0, its sole on a plane.
///
/// The scan is not part of the repository: HEELSTRIKE_DATA names the folder that contains foot/foot_left.stl. Meshes
/// and compliances are stored in HEELSTRIKE_FEM_CACHE if set.
#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numbers>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "fem_server/backends/fem_condensed/condensed_contact.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/fem/compliance_cache.hpp"
#include "fem_server/geometry/mesher.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem::test {

constexpr double foot_youngs_modulus = 3.62e6;  // [Pa] the thesis, section 6.3
constexpr double foot_poissons_ratio = 0.3;
constexpr double foot_clamp_height = 0.0;  // [m]

/// Path of the scan; empty when the data folder is absent.
inline std::optional<std::string> foot_scan() {
  const char* data = std::getenv("HEELSTRIKE_DATA");
  if (data == nullptr) return std::nullopt;
  const std::filesystem::path path = std::filesystem::path(data) / "foot" / "foot_left.stl";
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path.string();
}

inline std::string cache_folder() {
  const char* folder = std::getenv("HEELSTRIKE_FEM_CACHE");
  return folder == nullptr ? std::string() : std::string(folder);
}

inline std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// Meshed, or read from the cache. @param h  [m] edge length
inline VolumeMesh meshed_foot(double h) {
  const std::string folder = cache_folder();
  const std::string kept = folder.empty() ? std::string() : fmt::format("{}/foot_{:.3f}mm.msh", folder, 1e3 * h);
  ReadOptions read;
  if (!kept.empty() && std::filesystem::exists(kept)) {
    read.name = kept;
    return read_volume(file_content(kept), read);
  }
  const std::string scan = foot_scan().value();
  read.name = scan;
  MeshingOptions meshing;
  meshing.size.size = h;
  VolumeMesh mesh = mesh_surface(read_surface(file_content(scan), read), meshing).mesh;
  if (!kept.empty()) {
    std::filesystem::create_directories(folder);
    std::ofstream(kept, std::ios::binary) << write_msh(mesh);
  }
  return mesh;
}

/// Numbered as body_mesh() does for a contact from below.
inline VolumeMesh foot_mesh(double h) {
  VolumeMesh mesh = meshed_foot(h);
  number_from(mesh, -Vector3::UnitZ(), h);
  return mesh;
}

/// Body, clamp and candidates: all surface nodes below the clamp whose faces have a downward normal within `angle`.
inline PreparedBody foot_body(VolumeMesh mesh, double friction, double angle = std::numbers::pi / 2) {
  BodyModel body(std::move(mesh), std::vector<Material>{{.youngs_modulus = foot_youngs_modulus,
                                                         .poissons_ratio = foot_poissons_ratio,
                                                         .density = 1000.0,
                                                         .set = ""}});
  Support support;
  for (std::uint32_t n = 0; n < body.mesh().nodes.size(); ++n) {
    if (body.mesh().nodes[n].z() >= foot_clamp_height - 1e-9) support.clamped_nodes.push_back(n);
  }
  const ContactNodes all = contact_nodes(body, boundary_faces(body.mesh()));
  std::vector<bool> keep(all.nodes.size());
  for (std::size_t i = 0; i < keep.size(); ++i) {
    keep[i] = body.mesh().nodes[all.nodes[i]].z() < foot_clamp_height - 1e-9 && -all.normals[i].z() >= std::cos(angle);
  }
  ContactNodes contact = selected(all, keep);
  ContactOptions options;
  options.friction = friction;
  options.max_penetration = 0.02;
  PressureRecovery pressure(body.mesh(), contact);
  return {.body = std::move(body),
          .support = std::move(support),
          .contact = std::move(contact),
          .pressure = std::move(pressure),
          .partner = signed_distance(PlaneSurface{}),
          .options = options};
}

/// @param compression  tolerance; 0 = dense compliance
inline CondensedModel condensed_model(const PreparedBody& prepared, double compression = 0.0) {
  CondensedModel model;
  for (const std::uint32_t node : prepared.contact.nodes) model.points.push_back(prepared.body.mesh().nodes[node]);
  model.areas = prepared.contact.areas;
  model.pressure = prepared.pressure;
  model.compliance = cached_compliance(
      cache_folder(), prepared.body, prepared.support, prepared.contact.nodes, [](std::string_view, double) {}, {}, {},
      compression);
  model.partner = prepared.partner;
  model.options = prepared.options;
  return model;
}

/// Height of the lowest candidate, where the plane touches the undeformed foot first.
inline double sole_height(const std::vector<Vector3>& points) {
  double lowest = points.front().z();
  for (const Vector3& p : points) lowest = std::min(lowest, p.z());
  return lowest;
}

/// [m] height of the lowest point of the scan itself, below that of any mesh of it.
inline double scan_height() {
  ReadOptions read;
  read.name = foot_scan().value();
  return sole_height(read_surface(file_content(read.name), read).vertices);
}

/// The plane `depth` above the first contact.
inline PairState loaded_foot(double sole, double depth) {
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, sole + depth);
  return state;
}

}  // namespace heelstrike::fem::test
