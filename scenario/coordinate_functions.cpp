#include "scenario/coordinate_functions.hpp"

#include <fmt/format.h>
#include <array>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::config {
namespace {

struct TableKey {
  const char* name;
  const char* meaning;
  Joining joining;
};
constexpr std::array<TableKey, 4> tables = {
    {{"spline", "cubic spline whose ends have the third derivative of the cubic through four points (SIMM)",
      Joining::spline},
     {"natural_spline", "cubic spline without curvature at both ends", Joining::natural},
     {"lines", "piecewise linear; its derivative is discontinuous at the points", Joining::lines},
     {"steps", "the value of the preceding point", Joining::steps}}};

}  // namespace

std::vector<KeySchema> coordinate_function_keys() {
  std::vector<KeySchema> keys = {number_list("polynomial", "-", function_numbers, "c0 + c1 u + c2 u^2 + ...")};
  for (const TableKey& table : tables) {
    keys.push_back({.name = table.name,
                    .kind = KeyKind::map,
                    .meaning = std::string(table.meaning) + "; linear extrapolation",
                    .keys = {required(number_list("x", "-", function_numbers, "increasing values of the coordinate")),
                             required(number_list("y", "-", function_numbers, "as many values"))}});
  }
  keys.push_back(
      {.name = "sine",
       .kind = KeyKind::map,
       .meaning = "offset + amplitude sin(frequency u + phase)",
       .keys = {required(number("amplitude", "-", function_numbers, "amplitude")),
                number("frequency", "-", function_numbers, "factor of the coordinate", 1),
                number("phase", "rad", angles, "phase", 0), number("offset", "-", function_numbers, "mean", 0)}});
  return keys;
}

ScalarFunctionPtr read_coordinate_function(const Field& field) {
  const auto entries = field.entries();
  if (entries.size() != 1) {
    field.reject("one function", fmt::format("{}", entries.size()), "write e.g. {polynomial: [0, 1]}");
  }
  const Field& function = entries.front();
  if (function.name() == "polynomial") {
    if (function.numbers().empty()) function.reject("at least one coefficient", "an empty list", "give e.g. [0, 1]");
    return make_power_series(function.numbers());
  }
  if (function.name() == "sine") {
    return make_sine(function["amplitude"].number(), function["frequency"].number(), function["phase"].number(),
                     function["offset"].number());
  }
  for (const TableKey& table : tables) {
    if (function.name() != table.name) continue;
    try {
      return make_table(function["x"].numbers(), function["y"].numbers(), table.joining);
    } catch (const Error& error) {
      function.reject("a table", error.what(), "correct its entries");
    }
  }
  throw Error(ErrorCode::internal, "function '" + function.name() + "' was not checked");
}

}  // namespace heelstrike::config
