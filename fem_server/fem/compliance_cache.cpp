#include "fem_server/fem/compliance_cache.hpp"

#include <utility>
#include <vector>

#include "common/files/digest.hpp"
#include "fem_server/fem/cache_file.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view method_version = "condensation 2";

template <class T>
void append(std::string& bytes, const T* values, std::size_t n) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::uint64_t count = n;
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(values), n * sizeof(T));
}

}  // namespace

std::string compliance_key(const BodyModel& body, const Support& support, std::span<const std::uint32_t> candidates) {
  std::string bytes(method_version);
  const VolumeMesh& mesh = body.mesh();
  const std::uint32_t header[2] = {mesh.nodes_per_element, support.inertia_relief ? 1U : 0U};
  append(bytes, header, 2);
  // Only with pressures: bodies condensed without them keep their key.
  if (const auto kind = static_cast<std::uint32_t>(body.pressures().kind()); kind != 0) append(bytes, &kind, 1);
  append(bytes, reinterpret_cast<const double*>(mesh.nodes.data()), 3 * mesh.nodes.size());
  append(bytes, mesh.connectivity.data(), mesh.connectivity.size());
  std::vector<double> materials;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const LameConstants& c = body.material(e);
    materials.insert(materials.end(), {c.mu, c.lambda, support.inertia_relief ? c.density : 0.0});
  }
  append(bytes, materials.data(), materials.size());
  // Sharing of pressures between elements of several materials.
  if (body.pressures().kind() == PressureKind::nodal && body.n_materials() > 1) {
    std::vector<std::uint32_t> alike;
    for (std::size_t e = 0; e < mesh.n_elements(); ++e) alike.push_back(body.first_element_like(e));
    append(bytes, alike.data(), alike.size());
  }
  append(bytes, support.clamped_nodes.data(), support.clamped_nodes.size());
  append(bytes, candidates.data(), candidates.size());
  return sha256_hex(bytes);
}

SurfaceCompliance cached_compliance(const std::string& directory, const BodyModel& body, const Support& support,
                                    std::span<const std::uint32_t> candidates, const Progress& progress,
                                    const std::stop_token& stop, const MemoryLimit& limit) {
  const auto make = [&] { return condense(body, support, candidates, progress, stop, limit); };
  if (directory.empty()) return make();  // skips the cost of the key
  const std::size_t n = candidates.size();
  return cached<std::vector<double>>(
      directory,
      {.key = compliance_key(body, support, candidates),
       .kind = "compliance",
       .magic = "heelstrike compliance 1\n",
       .name = "the condensation",
       .loaded = "loaded from the cache",
       .begin = 0.0,
       .end = 1.0,
       .n = 9 * n * n},
      progress, make, [n](std::vector<double> blocks) { return SurfaceCompliance(n, std::move(blocks)); },
      [](const SurfaceCompliance& compliance) -> const std::vector<double>& { return compliance.data(); });
}

}  // namespace heelstrike::fem
