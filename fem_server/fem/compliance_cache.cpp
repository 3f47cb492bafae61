#include "fem_server/fem/compliance_cache.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "common/config/digest.hpp"
#include "common/errors/error.hpp"
#include "fem_server/fem/cache_file.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view compliance_magic = "heelstrike compliance 1\n";
constexpr std::string_view method_version = "condensation 1";

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
  auto blocks = read_cached_numbers(path_of(directory, key), compliance_magic, key, 9 * n_nodes * n_nodes, problem);
  if (!blocks) return std::nullopt;
  return SurfaceCompliance(n_nodes, std::move(*blocks));
}

void store_compliance(const std::string& directory, const std::string& key, const SurfaceCompliance& compliance) {
  write_cached_numbers(path_of(directory, key), compliance_magic, key, compliance.data());
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
