#include "common/parameters/parameter_kinds.hpp"

#include <utility>

namespace heelstrike {

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
