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

namespace config {

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

std::string joined_names(const std::vector<KeySchema>& keys) {
  std::string names;
  for (const auto& key : keys) names += (names.empty() ? "" : ", ") + key.name;
  return names;
}

/// The found value in a message.
std::string found_text(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("'{}'", *text);
  const auto* list = std::get_if<std::vector<double>>(&value);
  return list == nullptr ? text_of(value) : fmt::format("a list of {} values", list->size());
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
      return fmt::format("a map with the keys {}", joined_names(key.keys));
    case KeyKind::named:
      return "a map from names to entries";
    case KeyKind::one_of:
      return fmt::format("a map with one of {}", joined_names(key.keys));
    case KeyKind::variant:
      return "a map with the keys of its type";
    case KeyKind::parameters:
      return "a map from parameter names to values";
  }
  return "a value";
}

std::string text_of(const ParameterValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return fmt::format("[{}]", fmt::join(std::get<std::vector<double>>(value), ", "));
}

std::optional<std::string> number_violation(const KeySchema& key, double value) {
  const bool whole = key.kind != KeyKind::integer || std::floor(value) == value;
  if (whole && !key.choices.empty()) {
    if (std::ranges::find(key.choices, fmt::format("{}", value)) != key.choices.end()) return {};
    return key.meaning;
  }
  if (!std::isfinite(value)) return fmt::format("give a finite number ({})", key.meaning);
  if (whole && key.range.contains(value)) return {};
  return std::abs(value) > max_number
             ? fmt::format("give a value in this range ({}; the limit of every number is {:g})", key.meaning,
                           max_number)
             : fmt::format("give a value in this range ({})", key.meaning);
}

std::optional<std::string> text_violation(const KeySchema& key, const std::string& value) {
  for (const auto& [absent, reason] : key.removed_choices) {
    if (value == absent) return fmt::format("'{}' is not available: {}", absent, reason);
  }
  if (key.choices.empty() || std::ranges::find(key.choices, value) != key.choices.end()) return {};
  return suggestion(value, key.choices, key.meaning);
}

std::optional<std::string> size_violation(const KeySchema& key, std::size_t size) {
  if (key.sizes.empty() || std::ranges::find(key.sizes, size) != key.sizes.end()) return {};
  const bool too_many = size > std::ranges::max(key.sizes);
  return fmt::format("it is the {}{}", key.meaning,
                     too_many ? "; the comma separates values, decimals are written with a point: 0.5" : "");
}

void check_value(const KeySchema& key, const ParameterValue& value, const std::string& path) {
  const auto reject = [](const KeySchema& expected, const ParameterValue& found, const std::string& where,
                         const std::string& advice) {
    throw input_error(
        where, fmt::format("{}: expected {}, found {}; {}", where, expectation(expected), found_text(found), advice));
  };
  const auto require = [&](const std::optional<std::string>& advice) {
    if (advice) reject(key, value, path, *advice);
  };
  const auto* number = std::get_if<double>(&value);
  const auto* text = std::get_if<std::string>(&value);
  const auto* list = std::get_if<std::vector<double>>(&value);
  if ((key.kind == KeyKind::number || key.kind == KeyKind::integer) && number != nullptr) {
    require(number_violation(key, *number));
  } else if (key.kind == KeyKind::text && text != nullptr) {
    require(text_violation(key, *text));
  } else if (key.kind == KeyKind::numbers && list != nullptr) {
    require(size_violation(key, list->size()));
    KeySchema entry = key;
    entry.kind = KeyKind::number;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const double x = (*list)[i];
      if (const auto advice = number_violation(entry, x)) reject(entry, x, fmt::format("{}[{}]", path, i), *advice);
    }
  } else if (key.kind != KeyKind::flag || !std::holds_alternative<bool>(value)) {
    reject(key, value, path, key.meaning);
  }
}

}  // namespace config

namespace {

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
      config::check_value(s, it->second, key);
      result.insert(*it);
    } else if (s.required) {
      throw input_error(key, fmt::format("{}: missing; expected {} ({})", key, config::expectation(s), s.meaning));
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
  s.role = config::KeyRole::file;
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
