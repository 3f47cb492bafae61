#include "scenario/schema/keys.hpp"

#include <utility>

namespace heelstrike::config {

KeySchema vector3(std::string name, std::string unit, Range range, std::string meaning,
                  std::optional<ParameterValue> fallback) {
  return {.name = std::move(name),
          .kind = KeyKind::numbers,
          .unit = std::move(unit),
          .meaning = std::move(meaning),
          .fallback = std::move(fallback),
          .range = range,
          .sizes = {3}};
}

KeySchema required(KeySchema key) {
  key.required = true;
  key.fallback.reset();
  return key;
}

KeySchema quaternion(std::string name, std::string meaning) {
  return {.name = std::move(name),
          .kind = KeyKind::numbers,
          .meaning = std::move(meaning),
          .fallback = std::vector{1.0, 0.0, 0.0, 0.0},
          .range = {.min = -2.0, .max = 2.0},
          .sizes = {4},
          .role = KeyRole::rotation};
}

KeySchema direction(std::string name, const std::string& meaning) {
  KeySchema key = vector3(std::move(name), "-", direction_entries,
                          meaning + "; any nonzero length, normalised when read", std::vector{0.0, 0.0, 1.0});
  key.role = KeyRole::direction;
  return key;
}

KeySchema file(std::string name, std::string meaning, KeyRole role) {
  KeySchema key = text(std::move(name), std::move(meaning));
  key.role = role;
  return key;
}

KeySchema text(std::string name, std::string meaning) {
  return {.name = std::move(name), .kind = KeyKind::text, .meaning = std::move(meaning)};
}

KeySchema number(std::string name, std::string unit, Range range, std::string meaning, std::optional<double> fallback) {
  return {.name = std::move(name),
          .kind = KeyKind::number,
          .unit = std::move(unit),
          .meaning = std::move(meaning),
          .fallback = fallback,
          .range = range};
}

KeySchema integer(std::string name, Range range, std::string meaning, std::optional<double> fallback) {
  KeySchema key = number(std::move(name), "-", range, std::move(meaning), fallback);
  key.kind = KeyKind::integer;
  return key;
}

KeySchema flag(std::string name, std::string meaning, std::optional<bool> fallback) {
  return {.name = std::move(name), .kind = KeyKind::flag, .meaning = std::move(meaning), .fallback = fallback};
}

KeySchema choice(std::string name, std::vector<std::string> choices, std::string meaning, const std::string& fallback) {
  KeySchema key = text(std::move(name), std::move(meaning));
  if (!fallback.empty()) key.fallback = fallback;
  key.choices = std::move(choices);
  return key;
}

KeySchema number_list(std::string name, std::string unit, Range range, std::string meaning,
                      std::vector<std::size_t> sizes) {
  return {.name = std::move(name),
          .kind = KeyKind::numbers,
          .unit = std::move(unit),
          .meaning = std::move(meaning),
          .range = range,
          .sizes = std::move(sizes)};
}

KeySchema text_list(std::string name, std::string meaning) {
  return {.name = std::move(name), .kind = KeyKind::list, .meaning = std::move(meaning), .keys = {text("", "name")}};
}

KeySchema vector3_list(std::string name, const std::string& unit, Range range, std::string meaning) {
  return {.name = std::move(name),
          .kind = KeyKind::list,
          .unit = unit,
          .meaning = std::move(meaning),
          .keys = {number_list("", unit, range, "a vector", {3})}};
}

}  // namespace heelstrike::config
