#include "report/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "scenario/scenario_schema.hpp"

// Defined in resources.S.in.
extern "C" {
extern const char heelstrike_units_json_begin[], heelstrike_units_json_end[];
}

namespace heelstrike::report {

namespace {

const Json& unit_table() {
  static const Json table = Json::parse(std::string_view(heelstrike_units_json_begin, heelstrike_units_json_end));
  return table;
}

}  // namespace

DisplayUnit display_unit(const std::string& si, double high) {
  const auto units = unit_table().find(si);
  if (units == unit_table().end() || !(std::abs(high) > 0.0)) return {.name = si, .factor = 1.0};
  const auto fits = [&](const Json& unit) { return std::abs(high) >= unit[2].get<double>(); };
  const Json& unit = *std::ranges::find_if(*units, fits);
  return {.name = unit[0], .factor = unit[1]};
}

std::string shown(double value, int digits) {
  if (std::isnan(value)) return "-";
  const std::string text = fmt::format("{:.{}g}", value, digits);
  const double size = std::abs(value);
  const bool plain = text.find('e') == std::string::npos || size < 1e-3 || size >= 1e6;
  return plain ? text : fmt::format("{:.0f}", std::stod(text));
}

namespace {

std::vector<std::string> names_of_key(const std::string& key) {
  std::istringstream stream(key);
  std::vector<std::string> names;
  for (std::string name; std::getline(stream, name, '.');) names.push_back(name);
  return names;
}

bool is_at(const std::vector<std::string>& key, const std::vector<std::string>& path) {
  return std::ranges::equal(
      key, path, [](const std::string& name, const std::string& known) { return name == known || known == "NAME"; });
}

}  // namespace

std::string unit_of_key(const std::string& key, const Catalog& catalog) {
  const auto unit = [](const std::string& known) { return known == "-" ? std::string() : known; };
  const std::vector<std::string> names = names_of_key(key);
  const bool is_contact = !names.empty() && names.front() == "contact";
  // Two names are a parameter of all pairs.
  for (const config::ReferenceRow& row : config::reference_rows(config::scenario_schema(catalog), "")) {
    if (is_contact && names.size() == 2) break;
    if (is_at(names, names_of_key(row.path))) return unit(row.key.unit);
  }
  if (!is_contact) return {};
  for (const auto& [backend, parameters] : catalog.backends) {
    const auto found = std::ranges::find(parameters, names.back(), &ParameterSchema::name);
    if (found != parameters.end()) return unit(found->unit);
  }
  return {};
}

std::string with_unit(const std::string& text, const std::string& unit) {
  return unit.empty() || unit == "-" ? text : fmt::format("{} [{}]", text, unit);
}

void PageUnits::add(const std::string& si, double value) {
  double& high = highs_[si];
  if (std::isfinite(value)) high = std::max(high, std::abs(value));
}

DisplayUnit PageUnits::of(const std::string& si, double high) const {
  const auto common = highs_.find(si);
  return display_unit(si, common == highs_.end() ? high : common->second);
}

TableColumn PageUnits::column(const std::string& heading, const std::string& si,
                              const std::vector<std::optional<double>>& values, int digits) const {
  double high = 0.0;
  for (const auto& value : values) {
    if (value && std::isfinite(*value)) high = std::max(high, std::abs(*value));
  }
  const DisplayUnit unit = of(si, high);
  TableColumn column{.heading = with_unit(heading, unit.name), .cells = {}};
  for (const auto& value : values) {
    // Runs are computed to relative tolerances of 1e-6 to 1e-8: so far below the largest value it is rounding.
    const bool is_zero = value && std::abs(*value) < 1e-8 * high;
    column.cells.push_back(!value ? "-" : is_zero ? "0" : shown(unit.factor * *value, digits));
  }
  return column;
}

}  // namespace heelstrike::report
