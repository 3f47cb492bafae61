#include "common/parameters/parameter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/errors/error.hpp"
#include "common/parameters/retired_names.hpp"
#include "common/text/suggestion.hpp"

namespace heelstrike {

namespace {

/// No quantity in SI units exceeds this, and products of a few such numbers stay finite. Unbounded ranges end here.
constexpr double max_number = 1e18;

}  // namespace

bool Range::contains(double value) const {
  if (!(std::abs(value) <= max_number)) return false;
  const bool above = min_excluded ? value > min : value >= min;
  const bool below = max_excluded ? value < max : value <= max;
  return above && below;
}

std::string Range::text() const {
  const bool has_min = std::isfinite(min);
  const bool has_max = std::isfinite(max);
  if (has_min && has_max) {
    return fmt::format("in {}{:g}, {:g}{}", min_excluded ? '(' : '[', min, max, max_excluded ? ')' : ']');
  }
  if (has_min) return fmt::format("{} {:g}", min_excluded ? ">" : ">=", min);
  if (has_max) return fmt::format("{} {:g}", max_excluded ? "<" : "<=", max);
  return "any";
}

namespace {

std::string_view kind_name(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::number:
      return "a number";
    case ParameterKind::text:
      return "a text";
    case ParameterKind::flag:
      return "true or false";
    case ParameterKind::numbers:
      return "a list of numbers";
  }
  return "a value";
}

ParameterKind kind_of(const ParameterValue& value) {
  constexpr ParameterKind kinds[] = {ParameterKind::flag, ParameterKind::number, ParameterKind::text,
                                     ParameterKind::numbers};
  return kinds[value.index()];
}

void check_number(double value, const ParameterSchema& schema, const std::string& key) {
  if (std::isfinite(value) && schema.range.contains(value)) return;
  const bool huge = std::isfinite(value) && std::abs(value) > max_number;
  throw input_error(key, fmt::format("{}: expected a finite number {} [{}] ({}), found {}{}", key, schema.range.text(),
                                     schema.unit, schema.meaning, value,
                                     huge ? fmt::format("; the limit of every number is {:g}", max_number) : ""));
}

void check_value(const ParameterValue& value, const ParameterSchema& schema, const std::string& key) {
  if (kind_of(value) != schema.kind) {
    throw input_error(key, fmt::format("{}: expected {} [{}] ({}), found {}", key, kind_name(schema.kind), schema.unit,
                                       schema.meaning, kind_name(kind_of(value))));
  }
  if (const auto* x = std::get_if<double>(&value)) check_number(*x, schema, key);
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    for (const double x : *list) check_number(x, schema, key);
  }
  if (const auto* word = std::get_if<std::string>(&value)) {
    for (const auto& [absent, reason] : schema.removed_choices) {
      if (*word == absent) throw input_error(key, fmt::format("{}: '{}' is not available: {}", key, absent, reason));
    }
    if (!schema.choices.empty() && std::ranges::find(schema.choices, *word) == schema.choices.end()) {
      throw input_error(key,
                        fmt::format("{}: expected one of {}, found '{}'", key, fmt::join(schema.choices, ", "), *word));
    }
  }
}

std::vector<std::string> names_of(std::span<const ParameterSchema> schema) {
  std::vector<std::string> names;
  for (const auto& s : schema) names.push_back(s.name);
  return names;
}

[[noreturn]] void throw_unknown_key(const std::string& name, std::span<const ParameterSchema> schema,
                                    const std::string& where) {
  const std::string key = where + "." + name;
  const std::vector<std::string> known = names_of(schema);
  if (const auto present = present_name(name); present && std::ranges::find(known, *present) != known.end()) {
    throw input_error(key, fmt::format("{}: this key is now '{}'", key, *present));
  }
  const std::string hint = suggestion(name, known, "remove it");
  throw input_error(key, fmt::format("{}: unknown key; {} (known here: {})", key, hint, fmt::join(known, ", ")));
}

const ParameterValue& value_of(const ParameterMap& parameters, const std::string& name) {
  const auto it = parameters.find(name);
  if (it == parameters.end()) throw Error(ErrorCode::internal, fmt::format("parameter '{}' was not checked", name));
  return it->second;
}

template <typename T>
const T& typed(const ParameterMap& parameters, const std::string& name) {
  const auto* value = std::get_if<T>(&value_of(parameters, name));
  if (value == nullptr) throw Error(ErrorCode::internal, fmt::format("parameter '{}' has another kind", name));
  return *value;
}

}  // namespace

ParameterMap checked_parameters(const ParameterMap& given, std::span<const ParameterSchema> schema,
                                const std::string& where) {
  for (const auto& [name, value] : given) {
    const bool known = std::ranges::find(schema, name, &ParameterSchema::name) != schema.end();
    if (!known) throw_unknown_key(name, schema, where);
  }
  ParameterMap result;
  for (const auto& s : schema) {
    const std::string key = where + "." + s.name;
    if (const auto it = given.find(s.name); it != given.end()) {
      check_value(it->second, s, key);
      result.insert(*it);
    } else if (s.required) {
      throw input_error(key, fmt::format("{}: missing; expected {} {} [{}] ({})", key, kind_name(s.kind),
                                         s.range.text(), s.unit, s.meaning));
    } else if (s.fallback) {
      result.emplace(s.name, *s.fallback);
    }
  }
  return result;
}

double number(const ParameterMap& parameters, const std::string& name) {
  return typed<double>(parameters, name);
}
const std::string& text(const ParameterMap& parameters, const std::string& name) {
  return typed<std::string>(parameters, name);
}
bool flag(const ParameterMap& parameters, const std::string& name) {
  return typed<bool>(parameters, name);
}

std::optional<double> optional_number(const ParameterMap& parameters, const std::string& name) {
  if (!parameters.contains(name)) return std::nullopt;
  return number(parameters, name);
}

std::vector<double> ParameterScope::numbers(const std::string& name, std::size_t expected) const {
  const auto& values = std::get<std::vector<double>>(parameters.at(name));
  if (!values.empty() && values.size() != expected) {
    throw input_error(where + name,
                      fmt::format("{}{}: expected {} numbers or none, found {}", where, name, expected, values.size()));
  }
  return values;
}

ParameterSchema number_parameter(std::string name, std::string unit, std::string meaning,
                                 std::optional<double> fallback, Range range) {
  ParameterSchema s;
  s.name = std::move(name);
  s.unit = std::move(unit);
  s.meaning = std::move(meaning);
  if (fallback) s.fallback = *fallback;
  s.range = range;
  return s;
}

ParameterSchema text_parameter(std::string name, std::string meaning, std::string fallback,
                               std::vector<std::string> choices) {
  ParameterSchema s;
  s.name = std::move(name);
  s.kind = ParameterKind::text;
  s.meaning = std::move(meaning);
  s.fallback = std::move(fallback);
  s.choices = std::move(choices);
  return s;
}

ParameterSchema file_parameter(std::string name, std::string meaning) {
  ParameterSchema s = text_parameter(std::move(name), std::move(meaning), "");
  s.is_file = true;
  return s;
}

ParameterSchema list_parameter(std::string name, std::string unit, std::string meaning) {
  ParameterSchema s;
  s.name = std::move(name);
  s.kind = ParameterKind::numbers;
  s.unit = std::move(unit);
  s.meaning = std::move(meaning);
  s.fallback = std::vector<double>{};
  return s;
}

}  // namespace heelstrike
