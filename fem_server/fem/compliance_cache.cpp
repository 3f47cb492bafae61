#include "fem_server/fem/compliance_cache.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/files/digest.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {

namespace fs = std::filesystem;

fs::path cache_path(const std::string& directory, const std::string& key, std::string_view kind) {
  return fs::path(directory) / fmt::format("{}.{}", key, kind);
}

namespace {

constexpr std::size_t digest_length = 64;
constexpr const char* lock_file = "locks";
constexpr std::chrono::milliseconds lock_interval{50};  // between two attempts

/// Creates a missing folder, readable by its owner only.
void make_cache_folder(const fs::path& folder) {
  std::error_code code;
  if (fs::create_directories(folder, code)) fs::permissions(folder, fs::perms::owner_all, code);
}

/// One byte of the lock file per key; two keys with the same byte only wait for each other.
struct flock byte_of(const std::string& key) {
  constexpr std::size_t n_digits = 15;  // 60 bits of the digest, below the largest offset of a file
  std::uint64_t start = 0;
  std::from_chars(key.data(), key.data() + std::min(n_digits, key.size()), start, 16);
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(start);
  range.l_len = 1;
  return range;
}

std::string digest_of(std::span<const std::byte> content) {
  return sha256_hex({reinterpret_cast<const char*>(content.data()), content.size()});
}

}  // namespace

void write_cache_file(const fs::path& path, std::string_view magic, std::string_view key,
                      std::span<const std::byte> content) {
  static std::atomic<std::uint64_t> counter{0};  // two sessions of one process may store the same product at once
  std::error_code code;
  make_cache_folder(path.parent_path());
  const auto temporary = path.string() + fmt::format(".{}.{}.tmp", ::getpid(), counter++);
  {
    std::ofstream file(temporary, std::ios::binary);
    file << magic << key << digest_of(content);
    file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    file.flush();
    if (!file) {
      fs::remove(temporary, code);
      throw file_error(temporary,
                       fmt::format("cannot write the cache file {} ({} bytes); free space or choose another cache "
                                   "folder",
                                   temporary, content.size()));
    }
  }
  fs::rename(temporary, path, code);
  if (code) {
    throw file_error(path.string(),
                     fmt::format("cannot rename {} to {}: {}", temporary, path.string(), code.message()));
  }
  trim_cache(path.parent_path(), path, max_cache_bytes);
}

template <class Content>
std::optional<Content> read_cache_file(const fs::path& path, std::string_view magic, std::string_view key,
                                       std::optional<std::size_t> n, std::string& problem) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const auto discard = [&](const char* why) {
    problem = fmt::format("cache file {} {}; it will be rebuilt", path.string(), why);
    return std::nullopt;
  };
  std::string header(magic.size() + 2 * digest_length, '\0');
  constexpr std::size_t width = sizeof(typename Content::value_type);
  std::error_code code;
  const std::uintmax_t size = fs::file_size(path, code);
  if (code || size < header.size() || (n && size != header.size() + *n * width)) return discard("has the wrong size");
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (!file || !header.starts_with(magic)) return discard("is of another kind or version");
  if (header.substr(magic.size(), digest_length) != key) return discard("belongs to another body");
  Content content;
  content.resize((size - header.size()) / width);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(width * content.size()));
  if (!file || header.substr(magic.size() + digest_length) != digest_of(std::as_bytes(std::span(content)))) {
    return discard("is corrupt");
  }
  return content;
}

template std::optional<std::string> read_cache_file(const fs::path&, std::string_view, std::string_view,
                                                    std::optional<std::size_t>, std::string&);
template std::optional<std::vector<double>> read_cache_file(const fs::path&, std::string_view, std::string_view,
                                                            std::optional<std::size_t>, std::string&);

void trim_cache(const fs::path& directory, const fs::path& keep, std::uintmax_t max_bytes) {
  struct Entry {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uintmax_t total = 0;
  std::error_code code;
  for (const auto& file : fs::directory_iterator(directory, code)) {
    const auto extension = file.path().extension();
    constexpr std::array<std::string_view, 5> kinds{".mesh", ".compliance", ".compressed", ".interior", ".modes"};
    const bool known = std::ranges::find(kinds, extension.string()) != kinds.end();
    if (!known) continue;
    const std::uintmax_t bytes = file.file_size(code);
    if (code) continue;  // another process removed it
    entries.push_back({.used = file.last_write_time(code), .bytes = bytes, .path = file.path()});
    total += bytes;
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= max_bytes) return;
    if (entry.path == keep) continue;
    if (fs::remove(entry.path, code)) total -= entry.bytes;
  }
}

void update_access_time(const fs::path& path) noexcept {
  std::error_code code;
  fs::last_write_time(path, fs::file_time_type::clock::now(), code);
}

CacheLock::CacheLock(const std::string& directory, const std::string& key, const std::stop_token& stop,
                     const std::function<void()>& on_wait) {
  make_cache_folder(directory);
  file_ = ::open((fs::path(directory) / lock_file).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0) return;
  // Locks of the open file and not of the process: sessions of one process exclude each other, too.
  struct flock range = byte_of(key);
  while (::fcntl(file_, F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES) return;
    if (!waited_) on_wait();
    waited_ = true;
    if (stop.stop_requested()) {
      ::close(file_);
      throw Error(ErrorCode::cancelled, "stopped while waiting for the same preparation of another run");
    }
    std::this_thread::sleep_for(lock_interval);
  }
}

CacheLock::~CacheLock() {
  if (file_ >= 0) ::close(file_);
}

VolumeMesh cached_mesh(const std::string& directory, const std::string& key, const std::function<VolumeMesh()>& make,
                       const Progress& progress, const std::stop_token& stop) {
  const CacheEntry entry{.key = key, .kind = "mesh", .magic = "heelstrike mesh 1\n", .name = "the mesh"};
  const auto unpack = [&](const std::string& content) {
    ReadOptions options;
    options.name = cache_path(directory, key, entry.kind).string();
    options.format = "vtu";
    return read_volume(content, options);
  };
  return cached<std::string>(directory, entry, progress, stop, make, unpack,
                             [](const VolumeMesh& mesh) { return write_vtu(mesh); });
}

namespace {

constexpr std::string_view method_version = "condensation 3";
constexpr std::string_view compression_version = "compression 1";
constexpr std::string_view modes_version = "modes 1";

template <class T>
void append(std::string& bytes, const T* values, std::size_t n) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::uint64_t count = n;
  bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  bytes.append(reinterpret_cast<const char*>(values), n * sizeof(T));
}

}  // namespace

std::string compliance_key(const BodyModel& body, const Support& support, std::span<const std::uint32_t> candidates,
                           double tolerance) {
  std::string bytes(method_version);
  if (tolerance > 0.0) {
    bytes += compression_version;
    append(bytes, &tolerance, 1);
  }
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

namespace {

SurfaceCompliance cached_compressed(const std::string& directory, const BodyModel& body, const Support& support,
                                    std::span<const std::uint32_t> candidates, const Progress& progress,
                                    const std::stop_token& stop, const MemoryLimit& limit, double tolerance) {
  const auto make = [&] {
    SurfaceCompliance made = condense_compressed(body, support, candidates, tolerance, progress, stop, limit);
    const auto n = static_cast<double>(candidates.size());
    progress(fmt::format("compliance of {} contact nodes compressed to {} (dense: {}), {} low-rank blocks of mean rank "
                         "{:.1f}",
                         candidates.size(), memory_text(static_cast<double>(made.compressed()->n_bytes())),
                         memory_text(sizeof(double) * 9.0 * n * n), made.compressed()->n_low_rank_blocks(),
                         made.compressed()->mean_rank()),
             1.0);
    return made;
  };
  if (directory.empty()) return make();
  return cached<std::string>(
      directory,
      {.key = compliance_key(body, support, candidates, tolerance),
       .kind = "compressed",
       .magic = "heelstrike compressed compliance 1\n",
       .name = "the condensation",
       .loaded = "loaded from the cache",
       .begin = 0.0,
       .end = 1.0},
      progress, stop, make,
      [](const std::string& bytes) {
        return SurfaceCompliance(std::make_shared<const HierarchicalMatrix>(HierarchicalMatrix::from_bytes(bytes)));
      },
      [](const SurfaceCompliance& compliance) { return compliance.compressed()->bytes(); });
}

}  // namespace

SurfaceCompliance cached_compliance(const std::string& directory, const BodyModel& body, const Support& support,
                                    std::span<const std::uint32_t> candidates, const Progress& progress,
                                    const std::stop_token& stop, const MemoryLimit& limit, double tolerance) {
  if (tolerance > 0.0) return cached_compressed(directory, body, support, candidates, progress, stop, limit, tolerance);
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
      progress, stop, make, [n](std::vector<double> blocks) { return SurfaceCompliance(n, std::move(blocks)); },
      [](const SurfaceCompliance& compliance) -> const std::vector<double>& { return compliance.data(); });
}

namespace {

std::string modes_key(const BodyModel& body, const Support& support, std::size_t n_modes) {
  std::string bytes(modes_version);
  bytes += compliance_key(body, support, {});
  const std::uint64_t n = n_modes;
  append(bytes, &n, 1);
  std::vector<double> densities;
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) densities.push_back(body.material(e).density);
  append(bytes, densities.data(), densities.size());
  return sha256_hex(bytes);
}

}  // namespace

VibrationModes cached_modes(const std::string& directory, const BodyModel& body, const Support& support,
                            std::size_t n_modes, const Progress& progress, const std::stop_token& stop,
                            const MemoryLimit& limit) {
  const auto make = [&] { return vibration_modes(body, support, n_modes, stop, limit); };
  if (directory.empty()) return make();
  const auto n = static_cast<Eigen::Index>(n_modes);
  const auto n_dofs = static_cast<Eigen::Index>(body.n_dofs());
  return cached<std::vector<double>>(
      directory,
      {.key = modes_key(body, support, n_modes),
       .kind = "modes",
       .magic = "heelstrike modes 1\n",
       .name = "the vibration modes",
       .begin = 0.9,
       .end = 0.95,
       .n = n_modes * (body.n_dofs() + 1)},
      progress, stop, make,
      [&](const std::vector<double>& values) {
        return VibrationModes{.frequencies = Eigen::Map<const Eigen::VectorXd>(values.data(), n),
                              .shapes = Eigen::Map<const Eigen::MatrixXd>(values.data() + n, n_dofs, n)};
      },
      [](const VibrationModes& modes) {
        std::vector<double> values(modes.frequencies.begin(), modes.frequencies.end());
        values.insert(values.end(), modes.shapes.data(), modes.shapes.data() + modes.shapes.size());
        return values;
      });
}

}  // namespace heelstrike::fem
