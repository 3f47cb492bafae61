#include "scenario/surfaces/anatomical_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

struct Opposites {
  const char* one;
  const char* other;
};
constexpr Opposites opposites[] = {{"anterior", "posterior"}, {"superior", "inferior"}, {"lateral", "medial"},
                                   {"proximal", "distal"},    {"dorsal", "plantar"},    {"right", "left"}};

/// Null for a word that is none of them.
const Opposites* axis_named(const std::string& name) {
  const auto* found =
      std::ranges::find_if(opposites, [&](const Opposites& o) { return name == o.one || name == o.other; });
  return found == std::end(opposites) ? nullptr : found;
}

}  // namespace

std::vector<AnatomicalAxis> anatomical_axes(const std::vector<std::string>& names) {
  std::vector<AnatomicalAxis> axes;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const Opposites* axis = axis_named(names[k]);
    axes.push_back({.direction = Vector3::Unit(static_cast<Eigen::Index>(k)),
                    .ahead = names[k],
                    .behind = names[k] == axis->one ? axis->other : axis->one});
  }
  return axes;
}

std::vector<AnatomicalAxis> parse_anatomical_axes(std::string_view text, const std::string& where) {
  std::istringstream words{std::string(text)};
  std::vector<std::string> names;
  std::set<const Opposites*> known;
  for (std::string name; words >> name;) {
    names.push_back(name);
    if (const Opposites* axis = axis_named(name)) known.insert(axis);
  }
  if (names.empty()) return {};
  if (names.size() != 3 || known.size() != 3) {
    throw_invalid_value(where,
                        "three words for the directions of x, y and z, of three different ones of anterior or "
                        "posterior, superior or inferior, lateral or medial, proximal or distal, dorsal or plantar, "
                        "right or left",
                        fmt::format("'{}'", text), "for example `axes: posterior superior medial`");
  }
  return anatomical_axes(names);
}

}  // namespace heelstrike
