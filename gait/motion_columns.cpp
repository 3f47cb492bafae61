#include "gait/motion_columns.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "common/errors/error.hpp"
#include "common/motion/motion_file.hpp"
#include "gait/marker_drivers.hpp"
#include "gait/signal_filter.hpp"

namespace heelstrike {
namespace {

/// Runs `read` and prefixes its errors with the location in the scenario.
template <typename Read>
void read_table_at(const std::string& where, Read read) {
  try {
    read();
  } catch (const Error& e) {
    throw input_error("file", fmt::format("{}: {}", where, e.what()));
  }
}

void check_span(const TimeFunction& function, const std::string& where, double end_time) {
  if (function.first_time() <= 0.0 && function.last_time() >= end_time) return;
  throw input_error("file", fmt::format("{}: expected times that cover the run, 0 to {} s, found {} to {} s; add rows "
                                        "or change analysis.end_time",
                                        where, end_time, function.first_time(), function.last_time()));
}

/// Factor that converts a column of angles to radians; conversions and assumptions are noted.
double angle_factor(const FunctionSpec& spec, const std::string& text, std::vector<std::string>& notes) {
  constexpr double degree = std::numbers::pi / 180.0;
  if (spec.in_degrees) return *spec.in_degrees ? degree * spec.scale : spec.scale;
  const std::optional<AngleUnit> in_heading = angle_unit_in_heading(spec.column);
  const AngleUnit unit = in_heading ? *in_heading : angle_unit_of(text, spec.file);
  const bool has_unit_conversion = std::abs(spec.scale) != 1.0;
  const auto note = [&](const std::string& what) {
    notes.push_back(fmt::format("{}: column '{}' of {} {}", spec.where, spec.column, spec.file, what));
  };
  if (unit.degrees && !has_unit_conversion) {
    note(unit.stated
             ? "is in degrees and was converted to radians"
             : "is assumed to be in degrees, like in OpenSim for a .mot file without `version` and `inDegrees`");
    return degree * spec.scale;
  }
  if (unit.degrees && std::abs(std::abs(spec.scale) / degree - 1.0) > 1e-2) {
    note(fmt::format(
        "is in degrees and was multiplied by scale = {} to radians; omit `scale` to convert degrees to radians",
        spec.scale));
  }
  if (!unit.stated && !has_unit_conversion)
    note("does not state whether it is in degrees; radians are assumed (state it by `angles`)");
  return spec.scale;
}

/// Filters the values of a column.
void filter_column(const FunctionSpec& spec, const std::vector<double>& times, std::vector<double>& values) {
  const double interval = (times.back() - times.front()) / static_cast<double>(times.size() - 1);
  for (std::size_t i = 0; i < times.size(); ++i) {
    // Times are rounded to as few as three decimals in files of 1 kHz.
    const double expected = times.front() + interval * static_cast<double>(i);
    if (std::abs(times[i] - expected) <= 0.5 * interval) continue;
    throw input_error("file", fmt::format("{}: expected rows at equal intervals for `cutoff`, found t = {:.6g} s where "
                                          "{:.6g} s was expected; resample the file, or omit `cutoff`",
                                          spec.file, times[i], expected));
  }
  values = low_pass(values, {.order = spec.order, .cutoff = *spec.cutoff, .rate = 1.0 / interval});
}

void note_overshoot(const FunctionSpec& spec, double end_time, std::vector<std::string>& notes) {
  if (!spec.function) return;
  const auto found = find_overshoot(*spec.function, 0.0, end_time);
  if (!found) return;
  notes.push_back(fmt::format(
      "{}: the spline reaches {:.4g} at t = {:.4g} s, the rows are within {:.4g} and {:.4g}; add rows where "
      "the values bend, or use `spline: linear` (loads and activations), `cutoff`, or an expression with "
      "`step`",
      spec.where, found->value, found->time, found->low, found->high));
}

void read_file_column(FunctionSpec& spec, double end_time, const FileContent& content_of,
                      std::vector<std::string>& notes) {
  const std::string& text = required_content(content_of, spec.file, spec.where, "file");
  read_table_at(spec.where, [&] {
    const double factor = spec.is_angle ? angle_factor(spec, text, notes) : spec.scale;
    const std::array<std::string, 2> headings{spec.time_column, spec.column};
    auto columns = motion_columns(text, spec.file, headings);
    const std::vector<double> removed = remove_duplicate_times(columns);
    if (!removed.empty()) notes.push_back(spec.where + ": " + duplicate_times_note(spec.file, removed));
    if (spec.cutoff) filter_column(spec, columns[0], columns[1]);
    spec.function = make_scaled(make_spline(columns[0], columns[1], spec.degree), factor, 0.0);
  });
  check_span(*spec.function, spec.where, end_time);
}

void read_column(FunctionSpec& spec, double end_time, const FileContent& content_of, std::vector<std::string>& notes) {
  if (!spec.file.empty()) read_file_column(spec, end_time, content_of, notes);
  note_overshoot(spec, end_time, notes);
}

void check_bodies(const RecordSpec& spec, double end_time) {
  for (const auto& body : spec.bodies) {
    if (body) check_span(*body->position[0], spec.where, end_time);
  }
}

void read_record(DriverSpec& driver, const Scenario& scenario, const FileContent& content_of) {
  RecordSpec& spec = driver.record;
  if (spec.file.empty() || !driver.follow.empty()) return;
  const std::string& text = required_content(content_of, spec.file, spec.where, "file");
  std::vector<std::string> names = {driver.body};
  if (!driver.joint.empty()) names = std::ranges::find(scenario.joints, driver.joint, &JointSpec::name)->ends->bodies;
  spec.bodies.clear();
  read_table_at(spec.where, [&] {
    for (const auto& name : names) {
      spec.bodies.push_back(name == "ground" ? nullptr : read_body_record(text, spec.file, name, spec.time_column));
    }
  });
  check_bodies(spec, scenario.analysis.end_time);
}

}  // namespace

FileContent content_in(std::span<const AssetContent> files) {
  return [files](const std::string& name) -> const std::string* {
    const auto file = std::ranges::find(files, name, &AssetContent::name);
    return file == files.end() ? nullptr : &file->content.get();
  };
}

const std::string& required_content(const FileContent& content_of, const std::string& file, const std::string& where,
                                    const std::string& field) {
  const std::string* text = content_of(file);
  if (text != nullptr) return *text;
  throw input_error(
      field, fmt::format("{}: expected the file '{}' with the scenario, found nothing; send it with the scenario",
                         where, file));
}

void read_motion_columns(Scenario& scenario, const FileContent& content_of) {
  const double end_time = scenario.analysis.end_time;
  for (auto& load : scenario.loads) {
    for (auto& [key, function] : load.functions) read_column(function, end_time, content_of, scenario.notes);
  }
  for (auto& force : scenario.forces) {
    for (auto& [key, function] : force.functions) read_column(function, end_time, content_of, scenario.notes);
  }
  for (auto& balance : scenario.analysis.balance) read_column(balance.force, end_time, content_of, scenario.notes);
  read_marker_motions(scenario, content_of);
  for (auto& driver : scenario.drivers) {
    for (auto& [key, function] : driver.functions) read_column(function, end_time, content_of, scenario.notes);
    read_record(driver, scenario, content_of);
  }
  for (auto& body : scenario.bodies) {
    if (body.initial_state_from.empty()) continue;
    const auto other = std::ranges::find(scenario.bodies, body.initial_state_from, &BodySpec::name);
    body.X_WB = other->X_WB;
    body.V_WB = other->V_WB;
  }
}

}  // namespace heelstrike
