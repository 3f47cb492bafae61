#include "scenario/sections.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

namespace {

KeySchema degree_key() {
  return {.name = "spline",
          .kind = KeyKind::text,
          .meaning = "natural interpolating spline: cubic has two continuous derivatives, quintic four",
          .fallback = "cubic",
          .choices = {"cubic", "quintic"}};
}

/// Adds the position in the file to errors of a function of time.
template <typename Make>
TimeFunctionPtr made_function(const Field& field, Make make) {
  try {
    return make();
  } catch (const Error& e) {
    throw issue_at(field.document(), field.node(), field.path(), fmt::format("{}: {}", field.path(), e.what()));
  }
}

void check_span(const Field& field, const TimeFunction& function, double end_time) {
  if (function.first_time() <= 0.0 && function.last_time() >= end_time) return;
  field.reject(fmt::format("times that cover the run, 0 to {} s", end_time),
               fmt::format("{} to {} s", function.first_time(), function.last_time()),
               "add rows or change analysis.end_time");
}

}  // namespace

/// A function of time.
KeySchema function_keys(std::string name, const std::string& unit, const std::string& meaning) {
  return {
      .name = std::move(name),
      .kind = KeyKind::one_of,
      .unit = unit,
      .meaning = meaning + ", as function of time",
      .keys = {
          number_list("polynomial", unit, function_numbers, "c0 + c1 t + c2 t^2 + ..."),
          text("expression",
               "formula in t [s] with + - * / ^, pi, sin, cos, tan, exp, log, sqrt, tanh, abs and "
               "step(t, t0, t1), a smooth rise from 0 to 1"),
          {.name = "table",
           .kind = KeyKind::map,
           .meaning = "values at given times, joined by a spline; it must cover the run",
           .keys = {required(number_list("times", "s", instants, "increasing times")),
                    required(number_list("values", unit, function_numbers, "as many values")), degree_key(),
                    number("scale", "-", function_numbers, "factor on the values, e.g. 0.0174532925 for degrees", 1)}},
          {.name = "file",
           .kind = KeyKind::map,
           .meaning = "column of a motion file (.mot, .sto, .csv), joined by a spline; it must cover the run",
           .keys = {
               required(text("name", "motion file, relative to the scenario file")),
               required(text("column", "heading of the column with the values")),
               {.name = "time",
                .kind = KeyKind::text,
                .meaning = "heading of the column with the times [s]",
                .fallback = "time"},
               degree_key(),
               number("cutoff", "Hz", frequencies,
                      "zero-lag low-pass of the column, which must have equal intervals: 3 dB frequency after both "
                      "passes; unfiltered by default"),
               integer("order", {.min = 2.0, .max = 16.0}, "order of the low-pass, both passes together; even", 4),
               number("scale", "-", function_numbers,
                      unit == "rad" ? "factor on the values; if it is 1 or -1, degrees (`inDegrees=yes` "
                                      "in the header, or a heading that ends in _deg) become radians"
                                    : "factor on the values, e.g. 0.0174532925 for degrees",
                      1)}}}};
}

FunctionSpec read_function(const Field& choice, double end_time, std::vector<std::string>& files, bool is_angle) {
  const Field field = choice.entries().front();
  FunctionSpec spec;
  spec.is_angle = is_angle;
  spec.where = location_of(field);
  if (field.name() == "polynomial") {
    if (field.numbers().empty()) field.reject("at least one coefficient", "an empty list", "give e.g. [0, 1]");
    spec.function = make_polynomial(field.numbers());
  } else if (field.name() == "expression") {
    spec.function = made_function(field, [&] { return make_expression(field.text()); });
  } else {
    spec.degree = field["spline"].text() == "quintic" ? 5 : 3;
    spec.scale = field["scale"].number();
    if (field.name() == "file") {
      spec.file = field["name"].text();
      spec.column = field["column"].text();
      spec.time_column = field["time"].text();
      spec.cutoff = field.optional_number("cutoff");
      spec.order = static_cast<int>(field["order"].number());
      if (spec.order % 2 != 0) {
        field["order"].reject("an even number (two passes)", fmt::format("{}", spec.order), "choose e.g. 4");
      }
      add_file(files, spec.file);
    } else {
      spec.function = made_function(field, [&] {
        return make_scaled(make_spline(field["times"].numbers(), field["values"].numbers(), spec.degree), spec.scale,
                           0.0);
      });
      check_span(field, *spec.function, end_time);
    }
  }
  return spec;
}

}  // namespace heelstrike::config
