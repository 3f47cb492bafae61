#include "client/studies/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::client {

namespace {

using UnitFactor = std::pair<std::string_view, double>;

/// @param expected  "a length such as 4mm, ..."
double parse_quantity(const std::string& text, const std::string& what, std::span<const UnitFactor> units,
                      std::string_view expected) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto known = std::ranges::find(units, unit, &UnitFactor::first);
  if (error != std::errc() || known == units.end() || !std::isfinite(value)) {
    const bool comma = text.find(',') != std::string::npos;
    throw input_error(
        what, fmt::format("{}: expected {}, found '{}'{}", what, expected, text, comma ? "; use a decimal point" : ""));
  }
  return value * known->second;
}

}  // namespace

double parse_length(const std::string& text, const std::string& what) {
  constexpr std::array<UnitFactor, 5> units{{{"mm", 1e-3}, {"cm", 1e-2}, {"um", 1e-6}, {"m", 1.0}, {"", 1.0}}};
  return parse_quantity(text, what, units, "a length such as 4mm, 0.4cm, 120um or 0.004 (metres)");
}

double parse_force(const std::string& text, const std::string& what) {
  constexpr std::array<UnitFactor, 3> units{{{"N", 1.0}, {"kN", 1e3}, {"", 1.0}}};
  const double force = parse_quantity(text, what, units, "a force such as 600N, 0.6kN or 600 (newtons)");
  if (force > 0.0) return force;
  throw input_error(what, fmt::format("{}: expected a force > 0, found '{}'", what, text));
}

double parse_small_length(const std::string& text, const std::string& what) {
  const double length = parse_length(text, what);
  const bool has_unit = text.find('m') != std::string::npos;
  if (has_unit || std::abs(length) < 1.0) return length;
  throw input_error(
      what,
      fmt::format("{0}: {1} without a unit is {1} metres; write {1}mm, or {1}m if metres are intended", what, text));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (c == separator) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

}  // namespace heelstrike::client
