#include "fem_server/fem/compliance_cache.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/config/digest.hpp"
#include "common/errors/error.hpp"
#include "fem_server/fem/cache_file.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view magic = "heelstrike compliance 1\n";
constexpr std::string_view method_version = "condensation 1";
constexpr std::size_t digest_length = 64;

template <class T>
void append(std::string& bytes, const T* values, std::size_t n) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::uint64_t count = n;
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(values), n * sizeof(T));
}

std::filesystem::path path_of(const std::string& directory, const std::string& key) {
  return cache_path(directory, key, "compliance");
}

std::string_view as_bytes(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

}  // namespace

std::string compliance_key(const BodyModel& body, const Support& support, std::span<const std::uint32_t> candidates) {
  std::string bytes(method_version);
  const VolumeMesh& mesh = body.mesh();
  const std::uint32_t header[2] = {mesh.nodes_per_element, support.inertia_relief ? 1U : 0U};
  append(bytes, header, 2);
  append(bytes, reinterpret_cast<const double*>(mesh.nodes.data()), 3 * mesh.nodes.size());
  append(bytes, mesh.connectivity.data(), mesh.connectivity.size());
  std::vector<double> materials;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const LameConstants& c = body.material(e);
    materials.insert(materials.end(), {c.mu, c.lambda, support.inertia_relief ? c.density : 0.0});
  }
  append(bytes, materials.data(), materials.size());
  append(bytes, support.clamped_nodes.data(), support.clamped_nodes.size());
  append(bytes, candidates.data(), candidates.size());
  return sha256_hex(bytes);
}

std::optional<SurfaceCompliance> load_compliance(const std::string& directory, const std::string& key,
                                                 std::size_t n_nodes, std::string& problem) {
  const auto path = path_of(directory, key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const auto reject = [&](const char* why) {
    problem = fmt::format("cache file {} {}; it will be rebuilt", path.string(), why);
    return std::nullopt;
  };
  std::string header(magic.size() + 2 * digest_length, '\0');
  std::vector<double> blocks(9 * n_nodes * n_nodes);
  std::error_code code;
  if (std::filesystem::file_size(path, code) != header.size() + blocks.size() * sizeof(double) || code) {
    return reject("has the wrong size");
  }
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (!file || !header.starts_with(magic)) return reject("is of another kind or version");
  if (header.substr(magic.size(), digest_length) != key) return reject("belongs to another body");
  file.read(reinterpret_cast<char*>(blocks.data()), static_cast<std::streamsize>(blocks.size() * sizeof(double)));
  if (!file || header.substr(magic.size() + digest_length) != sha256_hex(as_bytes(blocks))) return reject("is damaged");
  return SurfaceCompliance(n_nodes, std::move(blocks));
}

void store_compliance(const std::string& directory, const std::string& key, const SurfaceCompliance& compliance) {
  const std::string_view bytes = as_bytes(compliance.data());
  write_cache_file(path_of(directory, key), {magic, key, sha256_hex(bytes), bytes});
}

SurfaceCompliance cached_compliance(const std::string& directory, const BodyModel& body, const Support& support,
                                    std::span<const std::uint32_t> candidates, const Progress& progress,
                                    const std::stop_token& stop) {
  if (directory.empty()) return condense(body, support, candidates, progress, stop);
  const std::string key = compliance_key(body, support, candidates);
  std::string problem;
  if (auto found = load_compliance(directory, key, candidates.size(), problem)) {
    touch_cache_file(path_of(directory, key));
    progress("loaded from the cache", 1.0);
    return std::move(*found);
  }
  if (!problem.empty()) progress(problem, 0.0);
  SurfaceCompliance compliance = condense(body, support, candidates, progress, stop);
  try {
    store_compliance(directory, key, compliance);
  } catch (const Error& error) {
    progress(fmt::format("the condensation is not kept: {}", error.what()), 1.0);
  }
  return compliance;
}

}  // namespace heelstrike::fem
