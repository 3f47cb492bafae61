#include "scenario/schema/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heelstrike::config {

namespace {

std::string amount(const std::vector<std::size_t>& sizes) {
  return sizes.empty() ? std::string() : fmt::format("{} ", fmt::join(sizes, " or "));
}

std::string in_unit(const KeySchema& key) {
  return key.unit == "-" ? std::string() : fmt::format(" [{}]", key.unit);
}

std::string in_range(const KeySchema& key) {
  return key.range.text() == "any" ? std::string() : fmt::format(" {}", key.range.text());
}

std::vector<std::string> quoted_names(const std::vector<KeySchema>& keys) {
  std::vector<std::string> names;
  for (const auto& key : keys) names.push_back(key.name);
  return names;
}

}  // namespace

std::string expectation(const KeySchema& key) {
  switch (key.kind) {
    case KeyKind::number:
      return fmt::format("a number{}{}", in_range(key), in_unit(key));
    case KeyKind::integer:
      return key.choices.empty() ? fmt::format("a whole number{}", in_range(key))
                                 : fmt::format("one of {}", fmt::join(key.choices, ", "));
    case KeyKind::text:
      return key.choices.empty() ? "a text" : fmt::format("one of {}", fmt::join(key.choices, ", "));
    case KeyKind::flag:
      return "true or false";
    case KeyKind::numbers:
      return fmt::format("a list of {}numbers{}{}", amount(key.sizes), in_range(key), in_unit(key));
    case KeyKind::list:
      return fmt::format("a list, each entry {}", expectation(key.keys.front()));
    case KeyKind::map:
      return fmt::format("a map with the keys {}", fmt::join(quoted_names(key.keys), ", "));
    case KeyKind::named:
      return "a map from names to entries";
    case KeyKind::one_of:
      return fmt::format("a map with one of {}", fmt::join(quoted_names(key.keys), ", "));
    case KeyKind::variant:
      return "a map with the keys of its type";
    case KeyKind::parameters:
      return "a map from parameter names to values";
  }
  return "a value";
}

}  // namespace heelstrike::config
