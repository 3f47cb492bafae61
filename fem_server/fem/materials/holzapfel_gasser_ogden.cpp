#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "fem_server/fem/hyperelastic.hpp"
#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

namespace {

MaterialLaw make_fibers(const ParameterScope& place) {
  FiberFamilies fibers;
  fibers.stiffness = required_number(place, "fiber_stiffness", "k1 [Pa] of the fibres");
  fibers.exponent = required_number(place, "fiber_exponent", "k2 [-] of the fibres, e.g. 1");
  fibers.dispersion = optional_number(place.parameters, "fiber_dispersion").value_or(0.0);
  const char* meaning = "three numbers for each fibre family, e.g. [1, 0, 0]";
  const auto numbers = required_numbers(place, "fiber_directions", 0, meaning);
  const std::string key = place.where + "fiber_directions";
  if (numbers.size() % 3 != 0) {
    throw input_error(key, fmt::format("{}: expected {}, found {} numbers", key, meaning, numbers.size()));
  }
  for (std::size_t i = 0; i < numbers.size(); i += 3) {
    const Vector3 direction(numbers[i], numbers[i + 1], numbers[i + 2]);
    if (!(direction.norm() > 0.0)) {
      throw input_error(key,
                        fmt::format("{}: expected directions, found the zero vector as number {}", key, i / 3 + 1));
    }
    fibers.directions.push_back(direction.normalized());
  }
  fibers.prony = prony_of(place, "fiber_");
  if (fibers.stiffness == 0.0 && !fibers.prony.empty()) {
    throw input_error(place.where + "fiber_prony_coefficients",
                      fmt::format("{}fiber_prony_coefficients: fibres with fiber_stiffness 0 have no tension to relax; "
                                  "remove it",
                                  place.where));
  }
  return material_of({.fibers = std::move(fibers), .prony = prony_of(place)});
}

}  // namespace

namespace {

ParameterSchema positive_list(const char* name, const char* unit, const char* meaning) {
  ParameterSchema list = list_parameter(name, unit, meaning);
  list.range = positive;
  return list;
}

}  // namespace

// Convex fibres in a neo-Hookean matrix are stable for any constants.
MaterialKind holzapfel_gasser_ogden_kind() {
  return {
      .name = "holzapfel_gasser_ogden",
      .meaning = "a matrix of the specified modulus with tension-only fibres [holzapfel2000, gasser2006]",
      .parameters =
          {number_parameter("fiber_stiffness", "Pa", "of holzapfel_gasser_ogden: k1 of each fibre family", std::nullopt,
                            not_negative),
           number_parameter("fiber_exponent", "-", "of holzapfel_gasser_ogden: k2, exponential stiffening of fibres",
                            std::nullopt, positive),
           number_parameter("fiber_dispersion", "-",
                            "of holzapfel_gasser_ogden: kappa, 0 = parallel fibres (default), 1/3 = isotropic "
                            "fibres",
                            std::nullopt, {.min = 0.0, .max = 1.0 / 3.0}),
           list_parameter("fiber_directions", "-",
                          "of holzapfel_gasser_ogden: x, y, z of each family in the frame of the undeformed body, "
                          "of any length"),
           positive_list("fiber_prony_coefficients", "-",
                         "of holzapfel_gasser_ogden: relaxing fractions of the fibre tension; without them fibres "
                         "are elastic"),
           positive_list("fiber_prony_times", "s",
                         "of holzapfel_gasser_ogden: relaxation times of the fiber_prony_coefficients")},
      .relaxes = true,
      .make = make_fibers};
}

}  // namespace heelstrike::fem
