#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "fem_server/fem/hyperelastic.hpp"
#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

namespace {

MaterialLaw make_ogden(const ParameterScope& place) {
  const auto exponents = required_numbers(place, "ogden_exponents", 0, "one exponent for each term, e.g. [1.3, -2]");
  for (const double exponent : exponents) {
    if (exponent != 0.0) continue;
    const std::string key = place.where + "ogden_exponents";
    throw input_error(
        key, fmt::format("{}: found an exponent of 0, whose term has no energy; expected nonzero exponents", key));
  }
  const auto shares =
      required_numbers(place, "ogden_fractions", exponents.size(),
                       fmt::format("one fraction for each of the {} ogden_exponents", exponents.size()));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  // Tolerance for fractions written with three or more digits.
  if (!(std::abs(sum - 1.0) <= 1e-3)) {
    const std::string key = place.where + "ogden_fractions";
    throw input_error(key, fmt::format("{}: expected fractions of the shear modulus with the sum 1, found {}; the "
                                       "fraction of a term is mu_p alpha_p / (2 mu)",
                                       key, sum));
  }
  std::vector<double> normalised = shares;
  for (double& share : normalised) share /= sum;
  const StretchLaw law = StretchLaw::ogden(exponents, normalised);
  require_stable(law, place.where + "ogden_fractions");
  return material_of({.isotropic = law, .prony = prony_of(place)});
}

}  // namespace

MaterialKind ogden_kind() {
  return {.name = "ogden",
          .meaning = "with ogden_exponents and ogden_fractions [ogden1984]",
          .parameters = {list_parameter("ogden_exponents", "-", "of ogden: alpha_p of the terms, nonzero"),
                         list_parameter("ogden_fractions", "-",
                                        "of ogden: mu_p alpha_p / (2 mu), the fraction of the shear modulus in each "
                                        "term; their sum is 1")},
          .relaxes = true,
          .make = make_ogden};
}

}  // namespace heelstrike::fem
