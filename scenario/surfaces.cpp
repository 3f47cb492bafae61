#include "scenario/sections.hpp"

#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::config {

namespace {

/// Flat value of a key. A list of lists becomes one list; a named map of numbers becomes its names, joined by commas,
/// and one list for each key of its entries: `layers` and `layers.height`.
void read_value(const Field& field, const KeySchema& key, ParameterMap& values) {
  switch (key.kind) {
    case KeyKind::number:
    case KeyKind::integer:
      values[key.name] = field.number();
      return;
    case KeyKind::flag:
      values[key.name] = field.flag();
      return;
    case KeyKind::numbers:
      if (key.role == KeyRole::rotation) (void)read_rotation(field);
      values[key.name] = field.numbers();
      if (key.role == KeyRole::direction) {
        const Vector3 d = read_direction(field);
        values[key.name] = std::vector<double>{d.x(), d.y(), d.z()};
      }
      return;
    case KeyKind::list: {
      std::vector<double> all;
      for (const auto& item : field.node().items) {
        const std::vector<double> row = Field(field.document(), *item, field.path()).numbers();
        all.insert(all.end(), row.begin(), row.end());
      }
      values[key.name] = std::move(all);
      return;
    }
    case KeyKind::named: {
      std::string names;
      for (const Field& entry : field.entries()) names += (names.empty() ? "" : ",") + entry.name();
      values[key.name] = std::move(names);
      for (const KeySchema& of_entry : key.keys) {
        std::vector<double> column;
        for (const Field& entry : field.entries()) column.push_back(entry[of_entry.name].number());
        values[key.name + "." + of_entry.name] = std::move(column);
      }
      return;
    }
    default:
      values[key.name] = field.text();
      return;
  }
}

/// The value to which a message refers: the deepest one on `path` that the file contains.
Field value_at(const Field& field, const std::string& path) {
  for (const Field& entry : field.entries()) {
    if (path == entry.path() || path.starts_with(entry.path() + ".")) return value_at(entry, path);
  }
  return field;
}

}  // namespace

KeySchema surface_keys() {
  KeySchema surface{
      .name = "surface", .kind = KeyKind::one_of, .meaning = "geometry in the body's frame", .required = true};
  for (const SurfaceKind& kind : surface_kinds()) surface.keys.push_back(kind.keys);
  return surface;
}

Surface read_surface(const Field& choice, std::vector<std::string>& files) {
  const Field field = choice.entries().front();
  Surface surface{.kind = field.name()};
  for (const KeySchema& key : kind_of(surface).keys.keys) {
    if (!field.has(key.name)) continue;
    read_value(field[key.name], key, surface.values);
    if (key.role == KeyRole::file) add_file(files, field[key.name].text());
  }
  return surface;
}

void check_surface(const Field& choice, const Surface& surface, bool is_rigid) {
  const SurfaceKind& kind = kind_of(surface);
  if (kind.check == nullptr) return;
  try {
    kind.check(surface, is_rigid, choice.path());
  } catch (const Error& e) {
    const Field place = value_at(choice, e.field());
    throw issue_at(place.document(), place.node(), e.field(), e.what());
  }
}

}  // namespace heelstrike::config
