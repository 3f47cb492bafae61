#include "fem_server/fem/mesh_cache.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "common/config/digest.hpp"
#include "common/errors/error.hpp"
#include "fem_server/fem/cache_file.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view mesh_magic = "heelstrike mesh 1\n";

std::optional<VolumeMesh> load_mesh(const std::filesystem::path& path, const std::string& key, std::string& problem) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto reject = [&](const char* why) {
    problem = unusable_cache_file(path, why);
    return std::nullopt;
  };
  if (!bytes.starts_with(mesh_magic) || bytes.size() < mesh_magic.size() + 2 * digest_length) {
    return reject("is of another kind or version");
  }
  const std::string_view rest = std::string_view(bytes).substr(mesh_magic.size());
  const std::string_view content = rest.substr(2 * digest_length);
  if (rest.substr(0, digest_length) != key) return reject("belongs to another body");
  if (rest.substr(digest_length, digest_length) != sha256_hex(content)) return reject("is damaged");
  ReadOptions options;
  options.name = path.string();
  options.format = "vtu";
  return read_volume(content, options);
}

}  // namespace

VolumeMesh cached_mesh(const std::string& directory, const std::string& key, const std::function<VolumeMesh()>& make,
                       const Progress& progress) {
  if (directory.empty()) return make();
  const auto path = cache_path(directory, key, "mesh");
  std::string problem;
  if (auto found = load_mesh(path, key, problem)) {
    touch_cache_file(path);
    return std::move(*found);
  }
  if (!problem.empty()) progress(problem, 0.0);
  VolumeMesh mesh = make();
  const std::string content = write_vtu(mesh);
  try {
    write_cache_file(path, {mesh_magic, key, sha256_hex(content), content});
  } catch (const Error& error) {
    progress(fmt::format("the mesh is not kept: {}", error.what()), 0.0);
  }
  return mesh;
}

}  // namespace heelstrike::fem
