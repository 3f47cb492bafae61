#include "scenario/surfaces/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

using config::KeyKind;
using config::KeyRole;
using config::KeySchema;

std::vector<SurfaceKind> all_kinds() {
  std::vector<SurfaceKind> kinds;
#define HEELSTRIKE_LISTED(NAME) kinds.push_back(NAME##_kind());
  HEELSTRIKE_SURFACE_KINDS(HEELSTRIKE_LISTED)
#undef HEELSTRIKE_LISTED
  return kinds;
}

/// Check of one value of a surface from another process.
class ValueCheck {
 public:
  ValueCheck(ParameterMap& values, const KeySchema& key, const std::string& path)
      : values_(values), key_(key), path_(path + "." + key.name) {}

  void run() {
    const auto found = values_.find(key_.name);
    if (found == values_.end()) {
      if (!key_.required && !key_.fallback) return;
      throw_invalid_value(path_, "a value (" + key_.meaning + ")", "nothing", "give all values, including defaults");
    }
    switch (key_.kind) {
      case KeyKind::number:
      case KeyKind::flag:
      case KeyKind::text:
        config::check_value(key_, found->second, path_);
        return;
      case KeyKind::numbers:
        config::check_value(key_, found->second, path_);
        if (key_.role == KeyRole::direction) normalise(found->second);
        if (key_.role == KeyRole::rotation) check_rotation(std::get<std::vector<double>>(found->second));
        return;
      case KeyKind::list:
        check_rows(typed<std::vector<double>>(found->second, "a list of numbers"), key_.keys.front());
        return;
      case KeyKind::named:
        check_named(typed<std::string>(found->second, "names joined by commas"));
        return;
      default:
        throw Error(ErrorCode::internal, path_ + ": surfaces have no keys of this kind");
    }
  }

 private:
  template <typename T>
  const T& typed(const ParameterValue& value, const char* expected) const {
    const auto* found = std::get_if<T>(&value);
    if (found == nullptr) throw_invalid_value(path_, expected, "another kind of value", key_.meaning);
    return *found;
  }

  /// Contiguous rows of equal length.
  void check_rows(const std::vector<double>& list, KeySchema row) const {
    const std::size_t width = row.sizes.front();
    if (list.size() % width != 0) {
      throw_invalid_value(path_, fmt::format("{} numbers for each entry", width),
                          fmt::format("{} numbers", list.size()), key_.meaning);
    }
    row.sizes.clear();
    config::check_value(row, list, path_);
  }

  /// A named map of numbers is sent as its names, and one list of numbers for each key of its entries.
  void check_named(const std::string& names) const {
    const auto n_names = names.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(names, ',')) + 1;
    for (KeySchema entry : key_.keys) {
      entry.kind = KeyKind::numbers;
      entry.sizes = {n_names};
      entry.name = key_.name + "." + entry.name;
      ValueCheck(values_, entry, path_.substr(0, path_.size() - key_.name.size() - 1)).run();
    }
  }

  void check_rotation(const std::vector<double>& q) const {
    const double norm = Quaternion(q[0], q[1], q[2], q[3]).norm();
    // Not normalised silently: a norm far from one indicates wrong order or number of entries.
    if (std::abs(norm - 1.0) <= quaternion_norm_tolerance) return;
    throw_invalid_value(path_, "a unit quaternion [w, x, y, z]", fmt::format("norm {}", norm),
                        "divide its entries by this norm");
  }

  void normalise(ParameterValue& value) const {
    const auto& v = std::get<std::vector<double>>(value);
    const Vector3 direction(v[0], v[1], v[2]);
    // Any length is accepted and normalised here, so that later code relies on unit length.
    if (!(direction.norm() > 0.0)) throw_invalid_value(path_, "a direction of nonzero length", "0", key_.meaning);
    value = listed(normalised(direction));
  }

  ParameterMap& values_;
  const KeySchema& key_;
  std::string path_;
};

/// "layers.height" belongs to the key `layers`.
bool is_known(const SurfaceKind& kind, const std::string& name) {
  return std::ranges::any_of(kind.keys.keys, [&](const KeySchema& key) {
    return name == key.name || (key.kind == KeyKind::named && name.starts_with(key.name + "."));
  });
}

}  // namespace

std::span<const SurfaceKind> surface_kinds() {
  static const std::vector<SurfaceKind> kinds = all_kinds();
  return kinds;
}

const SurfaceKind& kind_of(const Surface& surface, const std::string& where) {
  std::vector<std::string> names;
  for (const SurfaceKind& kind : surface_kinds()) {
    if (kind.name() == surface.kind) return kind;
    names.push_back(kind.name());
  }
  throw_invalid_value(where, fmt::format("one of the surfaces {}", fmt::join(names, ", ")), "'" + surface.kind + "'",
                      suggestion(surface.kind, names, "choose one of them"));
}

Surface checked_surface(Surface surface, bool is_rigid, const std::string& where) {
  const SurfaceKind& kind = kind_of(surface, where);
  const std::string path = where + "." + kind.name();
  for (const auto& [name, value] : surface.values) {
    if (!is_known(kind, name))
      throw_invalid_value(fmt::format("{}.{}", path, name), "keys of this surface", "an unknown one", "remove it");
  }
  for (const KeySchema& key : kind.keys.keys) ValueCheck(surface.values, key, path).run();
  if (kind.check != nullptr) kind.check(surface, is_rigid, where);
  return surface;
}

std::optional<AssetKey> asset_of(const Surface& surface) {
  std::optional<AssetKey> asset;
  for (const KeySchema& key : kind_of(surface).keys.keys) {
    if (key.role != KeyRole::file && key.role != KeyRole::asset) continue;
    if (!asset) asset = AssetKey{.sha256 = surface.sha256, .name = {}};
    if (asset->name.empty()) asset->name = text_or_none(surface.values, key.name);
  }
  // For kinds with optional file.
  if (asset && asset->name.empty() && asset->sha256.empty()) return std::nullopt;
  return asset;
}

std::unique_ptr<SignedDistance> signed_distance(const Surface& surface) {
  const SurfaceKind& kind = kind_of(surface);
  if (kind.distance != nullptr) return kind.distance(surface);
  std::vector<std::string> names;
  for (const SurfaceKind& other : surface_kinds()) {
    if (other.distance != nullptr) names.push_back(other.name());
  }
  throw input_error("partner.surface",
                    fmt::format("expected one of {}, found '{}'", fmt::join(names, ", "), kind.name()));
}

Vector3 location_of(const Surface& surface) {
  const SurfaceKind& kind = kind_of(surface);
  return kind.place.empty() ? Vector3(Vector3::Zero()) : vector3(surface.values, kind.place);
}

}  // namespace heelstrike
