#include "fem_server/sessions/open_session.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "fem_server/backend_interface/saved_history.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

/// Canonical bytes of a specification; every list is preceded by its length, which makes the encoding unique.
class SpecWriter {
 public:
  void put(std::string_view text) { writer_.put(text); }
  void put(double value) { writer_.put(value); }
  void put(const Vector3& v) {
    for (const double x : v) put(x);
  }
  void write_count(std::size_t n) { writer_.put(static_cast<std::uint64_t>(n)); }

  void put(const ParameterMap& parameters) {
    write_count(parameters.size());
    for (const auto& [name, value] : parameters) {
      put(std::string_view(name));
      write_count(value.index());
      std::visit([this](const auto& v) { write_value(v); }, value);
    }
  }

  void put(const ContactBody& body) {
    put(std::string_view(body.surface.kind));
    if (!write_legacy_kind<SphereSurface, PlaneSurface, CylinderSurface, MeshSurface, PointCloudSurface, BlockSurface,
                           FootSurface>(body.surface)) {
      put(body.surface.values);
      put(std::string_view(body.surface.sha256));
    }
    write_count(body.materials.size());
    for (const Material& m : body.materials) {
      put(m.youngs_modulus);
      put(m.poissons_ratio);
      put(m.density);
      put(std::string_view(m.set));
      if (!m.law.empty()) put(m.law);  // the encoding of a material without law is unchanged
    }
  }

  [[nodiscard]] std::string take() { return writer_.take(); }

 private:
  void write_value(bool value) { write_count(value ? 1 : 0); }
  void write_value(double value) { put(value); }
  void write_value(const std::string& value) { put(std::string_view(value)); }
  void write_value(const std::vector<double>& values) {
    write_count(values.size());
    for (const double x : values) put(x);
  }

  /// Surface kinds older than the map of values keep their encoding, so that earlier saved states remain valid. New
  /// kinds are not listed here.
  template <typename... Kinds>
  [[nodiscard]] bool write_legacy_kind(const Surface& surface) {
    return (write_as<Kinds>(surface) || ...);
  }
  template <typename Kind>
  [[nodiscard]] bool write_as(const Surface& surface) {
    const auto shape = Kind::of(surface);
    if (shape) write_surface(*shape);
    return shape.has_value();
  }

  void write_surface(const SphereSurface& s) {
    put(s.radius);
    put(s.center);
  }
  void write_surface(const PlaneSurface& s) {
    put(s.normal);
    put(s.point);
  }
  void write_surface(const CylinderSurface& s) {
    put(s.radius);
    put(s.axis);
    put(s.center);
    put(s.length);
    put(s.core_radius);
    write_count(s.layers.size());
    for (const CylinderLayer& layer : s.layers) {
      put(std::string_view(layer.name));
      put(layer.height);
    }
  }
  void write_surface(const MeshSurface& s) {
    put(std::string_view(s.sha256));
    put(std::string_view(s.asset_name));
    put(std::string_view(s.format));
    put(s.length_scale);
    for (const double x : s.X_BodyMesh.R.reshaped()) put(x);
    put(s.X_BodyMesh.p);
  }
  void write_surface(const BlockSurface& s) {
    put(s.lengths);
    put(s.center);
  }
  void write_surface(const FootSurface& s) {
    const FootDimensions& d = s.dimensions;
    for (const double x : {d.length, d.ball_breadth, d.heel_breadth, d.arch_height, d.instep_height, d.toe_height,
                           d.ankle_height, d.heel_to_ankle, d.cut_height}) {
      put(x);
    }
    write_count(s.right ? 1 : 0);
    put(s.ankle);
  }
  void write_surface(const PointCloudSurface& s) {
    write_count(s.points.size());
    for (const Vector3& p : s.points) put(p);
    write_value(s.areas);
  }

  StateWriter writer_;
};

}  // namespace

std::string pair_digest(const PairSpec& pair, const ParameterMap& parameters) {
  SpecWriter writer;
  writer.put(std::string_view("heelstrike pair 1"));
  writer.put(std::string_view(pair.backend));
  writer.put(parameters);
  writer.put(pair.main);
  writer.put(pair.partner);
  return sha256_hex(writer.take());
}

namespace {

/// Adds the content digest of meshes given by name only, because the owner may change the file.
PairSpec add_digests(PairSpec pair, const PrepareContext& context) {
  for (ContactBody* body : {&pair.main, &pair.partner}) {
    const auto file = asset_of(body->surface);
    if (file && file->sha256.empty()) body->surface.sha256 = context.asset(*file).sha256;
  }
  return pair;
}

/// Digests by name of other files given by name only.
using NamedFiles = std::map<std::string, std::string>;

ParameterMap add_digests(ParameterMap parameters, const NamedFiles& files) {
  for (const auto& [name, sha256] : files) parameters["content of " + name] = sha256;
  return parameters;
}

}  // namespace

std::unique_ptr<Session> open_session(const PairSpec& pair, const PrepareContext& context) {
  if (context.stop.stop_requested()) {
    throw Error(ErrorCode::cancelled, "opening of pair '" + pair.name + "' was cancelled");
  }
  NamedFiles files;
  PrepareContext context_with_warnings = context;
  context_with_warnings.asset = [&](const AssetKey& file) -> const AssetContent& {
    const AssetContent& found = context.asset(file);
    if (file.sha256.empty()) files[file.name] = found.sha256;
    return found;
  };
  auto backend = make_backend(pair, context_with_warnings);
  for (const ContactBody* body : {&pair.main, &pair.partner}) {
    const auto mesh = asset_of(body->surface);
    if (mesh && mesh->sha256.empty()) files.erase(mesh->name);
  }
  std::string digest = pair_digest(add_digests(pair, context), add_digests(backend->traits().parameters, files));
  return std::make_unique<Session>(pair, std::move(backend), std::move(digest));
}

namespace fs = std::filesystem;

namespace {

/// PID in "NAME.PID.N.tmp"; 0 for another name.
pid_t writer_of(const fs::path& file) {
  const std::string number = file.stem().stem().extension().string();  // ".PID"
  pid_t pid = 0;
  const char* end = number.data() + number.size();
  if (number.size() < 2) return 0;
  const auto [rest, failure] = std::from_chars(number.data() + 1, end, pid);
  return failure == std::errc() && rest == end ? pid : 0;
}

bool is_orphaned(const fs::directory_entry& entry) {
  constexpr std::chrono::hours max_write_duration{1};
  std::error_code code;
  const pid_t writer = writer_of(entry.path());
  if (entry.path().extension() != ".tmp" || writer <= 0 || !entry.is_regular_file(code)) return false;
  const auto last_write = entry.last_write_time(code);
  if (code) return false;
  const bool is_dead_writer = ::kill(writer, 0) != 0 && errno == ESRCH;
  return is_dead_writer || fs::file_time_type::clock::now() - last_write > max_write_duration;
}

}  // namespace

std::string default_cache_directory() {
  // The XDG base directory specification requires relative paths to be ignored.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/heelstrike";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string(home) + "/.cache/heelstrike";
  }
  return {};
}

OrphanedFiles remove_orphaned_files(const std::string& directory) {
  OrphanedFiles removed;
  std::error_code ignored;  // another process may clean up concurrently; the next start removes the rest
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored)) {
    if (!is_orphaned(*it)) continue;
    std::error_code failure;
    const std::uintmax_t bytes = it->file_size(failure);
    if (failure || !fs::remove(it->path(), failure)) continue;
    ++removed.n;
    removed.bytes += bytes;
  }
  return removed;
}

}  // namespace heelstrike::fem
