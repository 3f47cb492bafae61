#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

std::span<const MaterialKind> material_kinds() {
  static const std::vector<MaterialKind> kinds{neo_hookean_kind(), linear_kind(), mooney_rivlin_kind(),
                                               yeoh_kind(),        ogden_kind(),  holzapfel_gasser_ogden_kind()};
  return kinds;
}

std::vector<ParameterSchema> material_parameters(const std::string& of) {
  ParameterSchema law = text_parameter("material_law", of, material_kinds().front().name);
  std::vector<ParameterSchema> parameters;
  for (const MaterialKind& kind : material_kinds()) {
    law.choices.push_back(kind.name);
    law.meaning += fmt::format("{}{} = {}", law.choices.size() == 1 ? "" : "; ", kind.name, kind.meaning);
    for (const ParameterSchema& own : kind.parameters) parameters.push_back(own);
  }
  parameters.insert(parameters.begin(), std::move(law));
  ParameterSchema shares = list_parameter("prony_coefficients", "-",
                                          "relaxing fractions of the shear modulus, e.g. [0.3, 0.2]; the moduli of the "
                                          "material are then instantaneous values [fung1993]");
  ParameterSchema times = list_parameter("prony_times", "s", "relaxation times of the prony_coefficients");
  for (ParameterSchema* list : {&shares, &times}) {
    list->range = positive;
    parameters.push_back(std::move(*list));
  }
  return parameters;
}

namespace {

bool is_prescribed(const ParameterScope& place, const ParameterSchema& schema) {
  const auto given = place.parameters.find(schema.name);
  return given != place.parameters.end() && !(schema.fallback && given->second == *schema.fallback);
}

}  // namespace

MaterialLaw material_law(const ParameterScope& place) {
  const std::string& name = text(place.parameters, "material_law");
  const MaterialKind* chosen = nullptr;
  for (const MaterialKind& kind : material_kinds()) {
    if (kind.name == name) {
      chosen = &kind;
      continue;
    }
    for (const ParameterSchema& own : kind.parameters) {
      if (!is_prescribed(place, own)) continue;
      throw input_error(place.where + own.name,
                        fmt::format("{0}{1}: belongs to material_law {2}, found material_law {3}; remove it, or set "
                                    "material_law: {2}",
                                    place.where, own.name, kind.name, name));
    }
  }
  if (chosen == nullptr) throw Error(ErrorCode::internal, "material_law is not validated against its choices");
  if (!chosen->relaxes && !prony_of(place).empty()) {
    throw input_error(place.where + "prony_coefficients",
                      fmt::format("{}prony_coefficients: material_law {} is elastic; use a law with separate isochoric "
                                  "stress, e.g. mooney_rivlin, which is neo-Hookean with mooney_fraction: 0",
                                  place.where, name));
  }
  return chosen->make(place);
}

PronySeries prony_of(const ParameterScope& place, const std::string& prefix) {
  const std::string of_shares = prefix + "prony_coefficients";
  const std::string of_times = prefix + "prony_times";
  const auto& shares = std::get<std::vector<double>>(place.parameters.at(of_shares));
  const auto& times = std::get<std::vector<double>>(place.parameters.at(of_times));
  if (shares.size() != times.size()) {
    const std::string key = place.where + (shares.size() < times.size() ? of_shares : of_times);
    throw input_error(key, fmt::format("{}: expected one {} for each of the {}, found {} and {}", key, of_times,
                                       of_shares, times.size(), shares.size()));
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(sum < 1.0)) {
    throw input_error(place.where + of_shares,
                      fmt::format("{}{}: expected a sum below 1, so that some stiffness remains, found {}", place.where,
                                  of_shares, sum));
  }
  return {shares, times};
}

double required_number(const ParameterScope& place, const std::string& name, const std::string& meaning) {
  if (const auto value = optional_number(place.parameters, name)) return *value;
  throw input_error(place.where + name, fmt::format("{}{}: missing; material_law {} needs {}", place.where, name,
                                                    text(place.parameters, "material_law"), meaning));
}

std::vector<double> required_numbers(const ParameterScope& place, const std::string& name, std::size_t expected,
                                     const std::string& meaning) {
  std::vector<double> values = std::get<std::vector<double>>(place.parameters.at(name));
  if (values.empty() || (expected > 0 && values.size() != expected)) {
    throw input_error(place.where + name,
                      fmt::format("{}{}: material_law {} needs {}; found {} numbers", place.where, name,
                                  text(place.parameters, "material_law"), meaning, values.size()));
  }
  return values;
}

}  // namespace heelstrike::fem
