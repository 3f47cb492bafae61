#include "importers/robots/mesh_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::models {

namespace fs = std::filesystem;

Triangles transformed(Triangles mesh, const Vector3& factors, const Pose& X) {
  for (Vector3& v : mesh.vertices) v = X * Vector3(factors.cwiseProduct(v));
  if (factors.prod() < 0.0) {
    for (auto& t : mesh.triangles) std::swap(t[1], t[2]);
  }
  return mesh;
}

MeshImportOptions mesh_import_options(const ModelInput& input) {
  return {.read = input.read_mesh, .leave_out = input.has("--skip-meshes")};
}

/// @param key  distinguishes files with the same name
std::string MeshFiles::new_name(const std::string& stem, const std::string& ending, const std::string& key) {
  std::string name = fmt::format("meshes/{}{}", plain(stem), ending);
  for (int i = 2; names_.try_emplace(name, key).first->second != key; ++i) {
    name = fmt::format("meshes/{}_{}{}", plain(stem), i, ending);
  }
  return name;
}

const Triangles& MeshFiles::triangles(const fs::path& file) {
  if (const auto found = read_.find(file); found != read_.end()) return found->second;
  Triangles mesh = import_options_.read(file);
  if (mesh.triangles.empty()) {
    mesh = convex_hull(mesh.vertices, file.string());
    hulls_.insert(file);
  }
  return read_.emplace(file, std::move(mesh)).first->second;
}

bool MeshFiles::exists(const fs::path& file, const std::string& owner) {
  if (fs::is_regular_file(file)) return true;
  missing_.insert(fmt::format("{} of {}", fs::absolute(file).lexically_normal().string(), owner));
  return false;
}

namespace {

/// Formats of volume meshes, of which the outer surface is written; .msh is also a format of MuJoCo's surfaces.
bool may_be_volume(const std::string& ending) {
  return ending == ".msh" || ending == ".vtk" || ending == ".vtu" || ending == ".inp";
}

}  // namespace

void MeshFiles::use(Shape& shape, const fs::path& file, const std::string& owner, const Vector3& factors,
                    const Pose& X_SM) {
  if (import_options_.leave_out) {
    shape.what += ", which was skipped";
    return;
  }
  if (!exists(file, owner)) return;
  const Triangles& mesh = triangles(file);
  std::string ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  shape.kind = Shape::Kind::mesh;
  if (hulls_.contains(file)) shape.what += ", the convex hull of its points";
  const bool scales = factors == Vector3::Constant(factors.x()) && factors.x() > 0.0;
  if (scales && !may_be_volume(ending) && !hulls_.contains(file)) {
    shape.mesh = ImportedMesh{.from = file, .to = new_name(file.stem().string(), ending, file.string())};
    shape.length_scale = factors.x();
    shape.X_BS = shape.X_BS * X_SM;
    return;
  }
  const std::string key = fmt::format("{} {} {} {}", file.string(), list(factors), list(X_SM.p), quaternion(X_SM.R));
  shape.mesh = ImportedMesh{.from = {},
                            .to = new_name(file.stem().string(), ".obj", key),
                            .content = obj_text(transformed(mesh, factors, X_SM), plain(file.filename().string()))};
}

void MeshFiles::use(Shape& shape, const Triangles& mesh, const std::string& name) {
  shape.kind = Shape::Kind::mesh;
  shape.mesh = ImportedMesh{.from = {}, .to = new_name(name, ".obj", name), .content = obj_text(mesh, plain(name))};
}

void MeshFiles::throw_missing(const std::string& model) const {
  if (missing_.empty()) return;
  throw input_error("model",
                    fmt::format("{}: expected {} mesh file{}, not found; copy them to these locations, or skip meshes "
                                "with --skip-meshes:\n  {}",
                                model, missing_.size(), missing_.size() > 1 ? "s" : "", fmt::join(missing_, "\n  ")));
}

}  // namespace heelstrike::models
