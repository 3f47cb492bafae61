#include "scenario/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/contact/fields.hpp"
#include "common/text/suggestion.hpp"
#include "scenario/schema/members.hpp"

namespace heelstrike::config {

namespace {

const MemberKeys<FieldOutput>& field_members() {
  std::string names;
  for (const FieldQuantity& q : field_quantities)
    names += fmt::format("{}{} [{}]", names.empty() ? "" : ", ", q.name, q.unit);
  static const MemberKeys<FieldOutput> rows = {
      member_without_default(&FieldOutput::interval, number("interval", "s", times,
                                                            "interval of the files in simulated time; required "
                                                            "without `at`")),
      {choice("at", {"contact"},
              "contact: at the onset, the peaks and the end of every contact of a forward analysis, in addition to "
              "`interval`"),
       [](const Field& /*value*/, FieldOutput& output) { output.at_events = true; }},
      choice_member(&FieldOutput::mesh, "mesh", {"surface", "volume"}, "the boundary as triangles, or all tetrahedra"),
      member(&FieldOutput::quantities, text_list("quantities", "which of " + names + "; default: all")),
      member(&FieldOutput::contact_only, flag("contact_only", "true: only while the pair is in contact"))};
  return rows;
}

FieldOutput read_fields(const Field& field, const AnalysisSpec& analysis) {
  const double end_time = analysis.end_time;
  FieldOutput output;
  read_members(field, field_members(), output);
  if (output.at_events && !analysis.traits.finds_events) {
    field["at"].reject("a forward analysis, whose steps locate contact events",
                       fmt::format("`type: {}`", analysis.type),
                       "give `interval` instead: its frames are those of the rows");
  }
  if (!output.at_events && !field.has("interval")) {
    field.reject("`interval` or `at`", "neither", "say when files are written, e.g. `fields: {interval: 0.05}`");
  }
  // File names have five digits.
  constexpr double max_files = 100'000;
  if (output.interval > 0.0 && end_time / output.interval > max_files) {
    field["interval"].reject(fmt::format("at least {} s, for at most {} files", end_time / max_files, max_files),
                             fmt::format("{} s", output.interval), "make it larger");
  }
  std::vector<std::string> known;
  for (const FieldQuantity& quantity : field_quantities) known.emplace_back(quantity.name);
  for (const std::string& name : output.quantities) {
    if (std::ranges::find(known, name) != known.end()) continue;
    field["quantities"].reject(fmt::format("names among {}", fmt::join(known, ", ")),
                               fmt::format("'{}'", excerpt(name)), suggestion(name, known, "choose among them"));
  }
  return output;
}

const MemberKeys<OutputSpec>& output_members() {
  static const MemberKeys<OutputSpec> rows = {
      member(&OutputSpec::interval,
             required(number("interval", "s", times, "interval of the regular rows of timeseries.csv"))),
      member(&OutputSpec::accelerations,
             flag("accelerations",
                  "also write the accelerations of all bodies, so that `recorded` drivers repeat the motion exactly at "
                  "the rows")),
      choice_member(&OutputSpec::steps, "steps", {"none", "contact", "all"},
                    "accepted steps of the integrator that become additional rows: none, those in contact, all"),
      member(&OutputSpec::checkpoint_period,
             number("checkpoint_period", "s", {.min = 0.0, .max = times.max},
                    "wall time between checkpoints, from which an interrupted run is resumed; 0 for none. Results do "
                    "not depend on it")),
      member(&OutputSpec::checkpoint_interval,
             number("checkpoint_interval", "s", times,
                    "forward: simulated time between further checkpoints; the integrator restarts at each"))};
  return rows;
}

}  // namespace

KeySchema output_keys() {
  KeySchema output{.name = "output",
                   .kind = KeyKind::map,
                   .meaning = "what is written",
                   .required = true,
                   .keys = keys_of(output_members())};
  output.keys.push_back(
      {.name = "fields",
       .kind = KeyKind::map,
       .meaning = "files for ParaView (fields.pvd) of deformable bodies and their partners; none by default",
       .opt_in = true,
       .keys = keys_of(field_members())});
  return output;
}

OutputSpec read_output(const Field& field, const AnalysisSpec& analysis) {
  OutputSpec output;
  read_members(field, output_members(), output);
  const double end_time = analysis.end_time;
  if (output.interval > end_time) {
    field["interval"].reject(fmt::format("at most analysis.end_time ({} s) [s]", end_time),
                             fmt::format("{} s", output.interval),
                             "rows would only be written at the start; make it smaller");
  }
  check_grid(field["interval"], end_time, output.interval, analysis.budget.rows, "rows", "analysis.budget.rows");
  if (output.checkpoint_interval && !analysis.traits.finds_events) {
    field["checkpoint_interval"].reject("a forward analysis, the only one with steps between its rows",
                                        fmt::format("`type: {}`", analysis.type),
                                        "leave it out: checkpoint_period is for all");
  }
  if (field.has("fields")) output.fields = read_fields(field["fields"], analysis);
  return output;
}

}  // namespace heelstrike::config
