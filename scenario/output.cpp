#include "scenario/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/contact/fields.hpp"
#include "common/text/suggestion.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

namespace {

KeySchema field_keys() {
  std::string names;
  for (const FieldQuantity& q : field_quantities)
    names += fmt::format("{}{} [{}]", names.empty() ? "" : ", ", q.name, q.unit);
  return {.name = "fields",
          .kind = KeyKind::map,
          .meaning = "files for ParaView (fields.pvd) of deformable bodies and their partners; none by default",
          .opt_in = true,
          .keys = {number("interval", "s", times, "interval of the files in simulated time; required without `at`"),
                   {.name = "at",
                    .kind = KeyKind::text,
                    .meaning = "contact: at the onset, the peaks and the end of every contact of a forward analysis, "
                               "in addition to `interval`",
                    .choices = {"contact"}},
                   {.name = "mesh",
                    .kind = KeyKind::text,
                    .meaning = "the boundary as triangles, or all tetrahedra",
                    .fallback = "surface",
                    .choices = {"surface", "volume"}},
                   text_list("quantities", "which of " + names + "; default: all"),
                   {.name = "contact_only",
                    .kind = KeyKind::flag,
                    .meaning = "true: only while the pair is in contact",
                    .fallback = "false"}}};
}

FieldOutput read_fields(const Field& field, const AnalysisSpec& analysis) {
  const double end_time = analysis.end_time;
  const bool at_events = field.has("at");
  if (at_events && !analysis.traits.finds_events) {
    field["at"].refuse("a forward analysis, whose steps locate contact events",
                       fmt::format("`type: {}`", analysis.type),
                       "give `interval` instead: its frames are those of the rows");
  }
  if (!at_events && !field.has("interval")) {
    field.refuse("`interval` or `at`", "neither", "say when files are written, e.g. `fields: {interval: 0.05}`");
  }
  FieldOutput output{.interval = field.optional_number("interval").value_or(0.0),
                     .mesh = field["mesh"].text() == "volume" ? FieldMesh::volume : FieldMesh::surface,
                     .quantities = {},
                     .contact_only = field["contact_only"].flag(),
                     .at_events = at_events};
  // File names have five digits.
  constexpr double max_files = 100'000;
  if (output.interval > 0.0 && end_time / output.interval > max_files) {
    field["interval"].refuse(fmt::format("at least {} s, for at most {} files", end_time / max_files, max_files),
                             fmt::format("{} s", output.interval), "make it larger");
  }
  if (!field.has("quantities")) return output;
  std::vector<std::string> known;
  for (const FieldQuantity& quantity : field_quantities) known.emplace_back(quantity.name);
  for (const auto& item : field["quantities"].node().items) {
    if (std::ranges::find(known, item->scalar) == known.end()) {
      field["quantities"].refuse(fmt::format("names among {}", fmt::join(known, ", ")),
                                 fmt::format("'{}'", excerpt(item->scalar)),
                                 suggestion(item->scalar, known, "choose among them"));
    }
    output.quantities.push_back(item->scalar);
  }
  return output;
}

}  // namespace

KeySchema output_keys() {
  return {.name = "output",
          .kind = KeyKind::map,
          .meaning = "what is written",
          .required = true,
          .keys = {
              required(number("interval", "s", times, "interval of the regular rows of timeseries.csv")),
              {.name = "accelerations",
               .kind = KeyKind::flag,
               .meaning = "also write the accelerations of all bodies, so that `recorded` drivers repeat the motion "
                          "exactly at the rows",
               .fallback = "false"},
              {.name = "steps",
               .kind = KeyKind::text,
               .meaning = "accepted steps of the integrator that become additional rows: none, those in contact, all",
               .fallback = "contact",
               .choices = {"none", "contact", "all"}},
              number("checkpoint_period", "s", {.min = 0.0, .max = times.max},
                     "wall time between checkpoints, from which an interrupted run is resumed; 0 for none. Results do "
                     "not depend on it",
                     "10"),
              number("checkpoint_interval", "s", times,
                     "forward: simulated time between further checkpoints; the integrator restarts at each"),
              field_keys(),
          }};
}

OutputSpec read_output(const Field& field, const AnalysisSpec& analysis) {
  const double interval = field["interval"].number();
  const double end_time = analysis.end_time;
  if (interval > end_time) {
    field["interval"].refuse(fmt::format("at most analysis.end_time ({} s) [s]", end_time),
                             fmt::format("{} s", interval), "rows would only be written at the start; make it smaller");
  }
  check_grid(field["interval"], end_time, interval, analysis.budget.rows, "rows", "analysis.budget.rows");
  if (field.has("checkpoint_interval") && !analysis.traits.finds_events) {
    field["checkpoint_interval"].refuse("a forward analysis, the only one with steps between its rows",
                                        fmt::format("`type: {}`", analysis.type),
                                        "leave it out: checkpoint_period is for all");
  }
  const std::string& steps = field["steps"].text();
  return {.interval = interval,
          .accelerations = field["accelerations"].flag(),
          .steps = steps == "none"  ? StepRows::none
                   : steps == "all" ? StepRows::all
                                    : StepRows::contact,
          .checkpoint_period = field["checkpoint_period"].number(),
          .checkpoint_interval = field.optional_number("checkpoint_interval"),
          .fields = field.has("fields") ? std::optional(read_fields(field["fields"], analysis)) : std::nullopt};
}

}  // namespace heelstrike::config
