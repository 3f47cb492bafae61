#include "library/fmu/scenario_numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "scenario/catalog.hpp"
#include "scenario/scenario_schema.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::fmu {
namespace {

using config::KeyKind;
using config::KeySchema;
using config::Node;

/// Longer lists are tables, which are not set entry by entry: an inertia has six entries, a rotation matrix nine.
constexpr std::size_t max_list_size = 9;
constexpr std::array<std::string_view, 5> excluded_sections = {"heelstrike", "forces", "output", "coupling",
                                                               "analysis.end_time"};

class Walk {
 public:
  Walk(std::string_view below, std::vector<FmuVariable>& found) : below_(below), found_(found) {}

  void visit(const Node& node, const KeySchema& schema, const std::string& path) {
    if (std::ranges::find(excluded_sections, std::string_view(path)) != excluded_sections.end()) return;
    switch (schema.kind) {
      case KeyKind::number:
        take(node, schema, path);
        break;
      case KeyKind::numbers:
        if (node.type != Node::Type::sequence || node.items.size() > max_list_size) break;
        for (std::size_t i = 0; i < node.items.size(); ++i)
          take(*node.items[i], schema, fmt::format("{}[{}]", path, i + 1));
        break;
      case KeyKind::map:
      case KeyKind::one_of:
        visit_keys(node, schema.keys, path);
        break;
      case KeyKind::named: {
        for (const config::Entry& entry : node.entries) visit_keys(*entry.value, schema.keys, below(path, entry.key));
        break;
      }
      case KeyKind::variant:
        if (const KeySchema* type = config::chosen_type(schema, node)) visit_keys(node, type->keys, path);
        break;
      default:
        break;  // texts, flags, integers that are counts, lists of maps, parameters of back-ends
    }
  }

 private:
  static std::string below(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }
  void visit_keys(const Node& node, const std::vector<KeySchema>& keys, const std::string& path) {
    // A map of elements of several types has the variant as its only key, which has no name.
    if (keys.size() == 1 && keys.front().kind == KeyKind::variant) return visit(node, keys.front(), path);
    for (const config::Entry& entry : node.entries) {
      const auto key = std::ranges::find(keys, entry.key, &KeySchema::name);
      if (key != keys.end()) visit(*entry.value, *key, below(path, entry.key));
    }
  }
  void take(const Node& node, const KeySchema& schema, const std::string& path) {
    double value = 0.0;
    if (!path.starts_with(below_) || !config::read_number(node, value)) return;
    found_.push_back({.causality = Causality::parameter,
                      .name = path,
                      .unit = schema.unit,
                      .meaning = schema.meaning,
                      .start = value,
                      .min = schema.range.min,
                      .max = schema.range.max});
  }

  std::string_view below_;
  std::vector<FmuVariable>& found_;
};

}  // namespace

std::vector<FmuVariable> scenario_numbers(std::string_view yaml, const std::string& file_name, const Catalog& catalog,
                                          std::string_view below) {
  std::vector<FmuVariable> found;
  const config::Document document = config::load_document(yaml, file_name);
  Walk(below, found).visit(*document.root, config::scenario_schema(catalog), "");
  return found;
}

std::vector<std::string> assignments(const std::vector<FmuVariable>& variables,
                                     const std::map<std::uint32_t, double>& values) {
  std::vector<std::string> made;
  std::string last_list;
  for (const auto& [reference, value] : values) {
    const std::string& name = variables[reference].name;
    if (!name.ends_with(']')) {
      made.push_back(fmt::format("{}={}", name, value));
      continue;
    }
    const std::string list = name.substr(0, name.rfind('['));
    if (std::exchange(last_list, list) == list) continue;
    std::vector<double> entries;
    for (const FmuVariable& entry : variables) {
      if (entry.causality != Causality::parameter || !entry.name.starts_with(list + "[")) continue;
      const auto given = values.find(entry.reference);
      entries.push_back(given == values.end() ? entry.start : given->second);
    }
    made.push_back(fmt::format("{}=[{}]", list, fmt::join(entries, ", ")));
  }
  return made;
}

}  // namespace heelstrike::fmu
