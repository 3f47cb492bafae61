#include "scenario/sections.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

namespace {

KeySchema degree_key(Joins joins) {
  KeySchema key{.name = "spline",
                .kind = KeyKind::text,
                .meaning = "natural interpolating spline: cubic has two continuous derivatives, quintic four",
                .fallback = "cubic",
                .choices = {"cubic", "quintic"}};
  if (joins == Joins::smooth_or_linear) {
    key.choices.emplace_back("linear");
    key.meaning += "; linear joins the rows by lines, and the integrator stops at each of them";
  }
  return key;
}

int degree_of(const std::string& spline) {
  if (spline == "linear") return 1;
  return spline == "quintic" ? 5 : 3;
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
KeySchema function_keys(std::string name, const std::string& unit, const std::string& meaning, Joins joins) {
  const bool may_be_angle = unit == "rad" || unit == coordinate_unit;
  KeySchema keys = {
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
                    required(number_list("values", unit, function_numbers, "as many values")), degree_key(joins),
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
               degree_key(joins),
               number("cutoff", "Hz", frequencies,
                      "zero-lag low-pass of the column, which must have equal intervals: 3 dB frequency after both "
                      "passes; unfiltered by default"),
               integer("order", {.min = 2.0, .max = 16.0}, "order of the low-pass, both passes together; even", 4),
               number("scale", "-", function_numbers,
                      may_be_angle ? "factor on the values; if it is 1 or -1, degrees (`inDegrees=yes` "
                                     "in the header, or a heading that ends in _deg) become radians"
                                   : "factor on the values, e.g. 0.0174532925 for degrees",
                      1)}}}};
  if (may_be_angle) {
    keys.keys.back().keys.push_back(choice("angles", {"degrees", "radians"},
                                           "unit of a column of angles, in place of what the file or the heading "
                                           "states"));
  }
  return keys;
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
    spec.degree = degree_of(field["spline"].text());
    spec.scale = field["scale"].number();
    if (field.name() == "file") {
      spec.file = field["name"].text();
      spec.column = field["column"].text();
      spec.time_column = field["time"].text();
      spec.cutoff = field.optional_number("cutoff");
      spec.order = static_cast<int>(field["order"].number());
      if (field.has("angles")) spec.in_degrees = field["angles"].text() == "degrees";
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
