#include "client/studies/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "common/errors/error.hpp"

namespace heelstrike::client {
namespace {

using Json = nlohmann::ordered_json;

/// One quantity of a comparison: name in files, heading on the terminal, value in a run.
struct Quantity {
  const char* key;
  const char* heading;
  int digits;     ///< on the terminal
  bool compared;  ///< deviation from the reference is shown
  std::optional<double> (*value)(const RunSummary&, const PeakContact&);
};

template <class Member>
std::optional<double> of_first_contact(const RunSummary& run, Member ContactEpisode::*member) {
  if (run.contacts.empty()) return std::nullopt;
  return run.contacts.front().*member;
}
/// Impacts of rigid bodies have impulses, and a duration of one step.
bool begins_with_impact(const RunSummary& run) {
  return !run.contacts.empty() && run.contacts.front().max_impulse.has_value();
}
std::optional<double> max_force(const RunSummary& run) {
  return begins_with_impact(run) ? std::nullopt : of_first_contact(run, &ContactEpisode::max_force);
}
std::optional<double> max_indentation(const RunSummary& run) {
  return begins_with_impact(run) ? std::nullopt : of_first_contact(run, &ContactEpisode::max_indentation);
}
std::optional<double> duration(const RunSummary& run) {
  if (run.contacts.empty() || !run.contacts.front().end || begins_with_impact(run)) return std::nullopt;
  return *run.contacts.front().end - run.contacts.front().onset;
}
template <class Integer>
std::optional<double> count(Integer n) {
  return static_cast<double>(n);
}

const std::vector<Quantity>& quantities() {
  using S = const RunSummary&;
  using P = const PeakContact&;
  static const std::vector<Quantity> all = {
      {"max_force_N", "max force N", 6, true, [](S s, P) { return max_force(s); }},
      {"max_indentation_m", "max indentation m", 5, true, [](S s, P) { return max_indentation(s); }},
      {"peak_pressure_Pa", "peak pressure Pa", 5, true, [](S, P p) { return p.peak_pressure; }},
      {"area_m2", "area m2", 5, true, [](S, P p) { return p.area; }},
      {"contact_duration_s", "duration s", 5, true, [](S s, P) { return duration(s); }},
      {"separation_velocity_m_s", "separation m/s", 5, true,
       [](S s, P) { return of_first_contact(s, &ContactEpisode::separation_velocity); }},
      {"effective_restitution", "restitution", 5, true,
       [](S s, P) { return of_first_contact(s, &ContactEpisode::effective_restitution); }},
      {"energy_balance_error_J", "balance J", 2, false, [](S s, P) { return count(s.energy.balance_error); }},
      {"steps", "steps", 9, false, [](S s, P) { return count(s.integrator.steps); }},
      {"contact_evaluations", "evaluations", 9, false, [](S s, P) { return count(s.contact_evaluations); }},
      {"exchanges", "exchanges", 9, false,
       [](S s, P) { return s.coupling ? count(s.coupling->exchanges) : std::nullopt; }},
      {"coupling_iterations", "iterations", 9, false,
       [](S s, P) { return s.coupling ? count(s.coupling->iterations) : std::nullopt; }},
      {"rejected_macro_steps", "repeated", 9, false,
       [](S s, P) { return s.coupling ? count(s.coupling->rejected_macro_steps) : std::nullopt; }},
      {"wall_time_s", "wall s", 3, false, [](S s, P) { return count(s.wall_time); }},
  };
  return all;
}

std::optional<double> value_of(const Quantity& quantity, const ComparisonRow& row) {
  const auto found = row.quantities.find(quantity.key);
  return found == row.quantities.end() ? std::nullopt : std::optional(found->second);
}

/// Quantities that at least one row has.
std::vector<Quantity> quantities_of(const Comparison& comparison) {
  std::vector<Quantity> present;
  for (const Quantity& q : quantities()) {
    if (std::ranges::any_of(comparison.rows, [&](const ComparisonRow& row) { return value_of(q, row).has_value(); })) {
      present.push_back(q);
    }
  }
  return present;
}

/// Without quantities that are zero in all rows, for people.
std::vector<Quantity> shown_quantities_of(const Comparison& comparison) {
  std::vector<Quantity> shown = quantities_of(comparison);
  std::erase_if(shown, [&](const Quantity& q) {
    return std::ranges::all_of(comparison.rows,
                               [&](const ComparisonRow& row) { return value_of(q, row).value_or(0.0) == 0.0; });
  });
  return shown;
}

/// Headings of the keys that a sweep varies: their last names if these differ from each other and from the quantities.
std::vector<std::string> parameter_headings(const Comparison& comparison) {
  std::vector<std::string> keys, names;
  if (comparison.rows.empty()) return keys;
  for (const auto& [key, value] : comparison.rows.front().parameters) {
    keys.push_back(key);
    names.push_back(key.substr(key.rfind('.') + 1));
  }
  std::set<std::string> different(names.begin(), names.end());
  for (const Quantity& q : quantities()) different.erase(q.heading);
  return different.size() == names.size() ? names : keys;
}

constexpr const char* position_key = "position_error_m";

bool has_position_errors(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const ComparisonRow& row) { return row.position_error.has_value(); });
}

/// Indices of the columns of the origins, by body: those whose names end in .x_m, followed by y and z.
std::vector<std::size_t> origins(const TimeSeries& series) {
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i + 2 < series.columns.size(); ++i) {
    if (series.columns[i].ends_with(".x_m") && series.columns[i + 2].ends_with(".z_m")) first.push_back(i);
  }
  return first;
}

double distance(const double* a, const double* b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

const ComparisonRow* find(const Comparison& comparison, const std::string& backend) {
  const auto found = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                  [&](const ComparisonRow& row) { return row.backend == backend; });
  return found == comparison.rows.end() ? nullptr : &*found;
}

/// (value - reference) / reference, if both exist and the reference is not zero.
std::optional<double> deviation(const Quantity& quantity, const ComparisonRow& row, const ComparisonRow* reference) {
  if (reference == nullptr || !quantity.compared) return std::nullopt;
  const auto value = value_of(quantity, row);
  const auto base = value_of(quantity, *reference);
  if (!value || !base || *base == 0.0) return std::nullopt;
  return (*value - *base) / *base;
}

bool has_numbers(const ComparisonRow& row) {
  return row.failure.empty() || row.status == "incomplete";
}

bool is_whole(const ComparisonRow& row) {
  return row.failure.empty();
}

/// The value as a number if it is one, else as text.
Json parameter_json(const std::string& value) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() ? Json(number) : Json(value);
}

std::string exact(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

PositionError position_error(const TimeSeries& run, const TimeSeries& reference) {
  const auto bodies = origins(reference);
  if (origins(run) != bodies) throw input_error("schemes", "the compared runs do not have the same bodies");
  PositionError error;
  double path_length = 0.0;
  const std::size_t n_run = run.columns.size(), n_reference = reference.columns.size();
  std::size_t at = 0;
  for (std::size_t i = 0; i < reference.rows(); ++i) {
    const double* there = &reference.values[i * n_reference];
    for (const std::size_t body : bodies)
      path_length = std::max(path_length, distance(there + body, &reference.values[body]));
    while (at < run.rows() && run.values[at * n_run] < there[0]) ++at;
    // Rows of the output interval have equal times in both runs; integrator steps generally do not.
    if (at == run.rows() || run.values[at * n_run] != there[0]) continue;
    const double* here = &run.values[at * n_run];
    for (const std::size_t body : bodies) error.largest = std::max(error.largest, distance(here + body, there + body));
  }
  if (path_length > 0.0) error.relative = error.largest / path_length;
  return error;
}

PeakContact find_peak_contact(const TimeSeries& run) {
  const std::size_t n = run.columns.size();
  const auto largest = [&](std::string_view ending) -> std::optional<double> {
    double value = 0.0;
    for (std::size_t column = 0; column < n; ++column) {
      if (!run.columns[column].ends_with(ending)) continue;
      for (std::size_t i = 0; i < run.rows(); ++i) value = std::max(value, run.values[i * n + column]);
    }
    return value > 0.0 ? std::optional(value) : std::nullopt;
  };
  return {.peak_pressure = largest(".peak_pressure_Pa"), .area = largest(".area_m2")};
}

Quantities quantities_of(const RunSummary& summary, const PeakContact& peak) {
  Quantities known;
  for (const Quantity& q : quantities()) {
    // A value that the run does not have is NaN.
    if (const auto value = q.value(summary, peak); value && std::isfinite(*value)) known[q.key] = *value;
  }
  return known;
}

ExitCode Comparison::exit_code() const {
  if (!std::ranges::all_of(rows, has_numbers)) return ExitCode::run_failed;
  return std::ranges::all_of(rows, is_whole) ? ExitCode::ok : ExitCode::incomplete;
}

std::vector<std::string> Comparison::failures() const {
  std::vector<std::string> messages;
  for (const ComparisonRow& row : rows) {
    if (is_whole(row)) continue;
    messages.push_back(fmt::format("{}: {}{}", row.backend, has_numbers(row) ? "incomplete: " : "", row.failure));
  }
  return messages;
}

Table Comparison::table() const {
  const ComparisonRow* base = reference.empty() ? nullptr : find(*this, reference);
  Table table;
  const std::vector<std::string> parameters = parameter_headings(*this);
  table.header = parameters.empty() ? std::vector<std::string>{subject} : parameters;
  const bool positions = has_position_errors(*this);
  if (positions) table.header.insert(table.header.end(), {"position error m", "%"});
  for (const Quantity& q : shown_quantities_of(*this)) {
    table.header.push_back(q.heading);
    if (base != nullptr && q.compared) table.header.emplace_back("%");
  }
  for (const ComparisonRow& row : rows) {
    const bool marked = has_numbers(row) && !is_whole(row);
    std::vector<std::string> line;
    for (const auto& [key, value] : row.parameters) line.push_back(value);
    if (parameters.empty()) line.push_back(row.backend);
    if (marked) line.back() += fmt::format(" ({})", row.status);
    if (positions) {
      const auto& error = row.position_error;
      line.push_back(error ? number_text(error->largest, 3) : "-");
      line.push_back(error ? fmt::format("{:.2g}", 100.0 * error->relative) : "-");
    }
    for (const Quantity& q : shown_quantities_of(*this)) {
      const auto value = has_numbers(row) ? value_of(q, row) : std::nullopt;
      line.push_back(value ? number_text(*value, q.digits) : "-");
      if (base == nullptr || !q.compared) continue;
      const auto off = is_whole(row) && is_whole(*base) ? deviation(q, row, base) : std::nullopt;
      line.push_back(off ? fmt::format("{:+.2f}", 100.0 * *off) : "-");
    }
    table.rows.push_back(std::move(line));
  }
  return table;
}

std::string Comparison::csv() const {
  const ComparisonRow* base = reference.empty() ? nullptr : find(*this, reference);
  std::vector<std::string> header = {"backend", "status"};
  if (!rows.empty()) {
    for (const auto& [key, value] : rows.front().parameters) header.push_back(key);
  }
  const bool positions = has_position_errors(*this);
  if (positions) header.insert(header.end(), {position_key, fmt::format("{}_relative_deviation", position_key)});
  for (const Quantity& q : quantities_of(*this)) {
    header.emplace_back(q.key);
    if (base != nullptr && q.compared) header.push_back(fmt::format("{}_relative_deviation", q.key));
  }
  header.insert(header.end(), {"folder", "failure"});
  std::string text = csv_line(header);
  for (const ComparisonRow& row : rows) {
    std::vector<std::string> line = {row.backend, row.status};
    for (const auto& [key, value] : row.parameters) line.push_back(value);
    if (positions) {
      const auto& error = row.position_error;
      line.push_back(exact(error ? std::optional(error->largest) : std::nullopt));
      line.push_back(exact(error ? std::optional(error->relative) : std::nullopt));
    }
    for (const Quantity& q : quantities_of(*this)) {
      line.push_back(has_numbers(row) ? exact(value_of(q, row)) : "");
      if (base == nullptr || !q.compared) continue;
      line.push_back(is_whole(row) && is_whole(*base) ? exact(deviation(q, row, base)) : "");
    }
    line.insert(line.end(), {row.folder, row.failure});
    text += csv_line(line);
  }
  return text;
}

std::string Comparison::json() const {
  const ComparisonRow* base = reference.empty() ? nullptr : find(*this, reference);
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  Json json = {
      {"scenario", scenario}, {"reference", reference.empty() ? Json() : Json(reference)}, {"rows", Json::array()}};
  if (n_planned > rows.size()) json["planned"] = n_planned;
  if (!units.empty()) json["units"] = units;
  for (const ComparisonRow& row : rows) {
    Json line = {{"backend", row.backend}, {"status", row.status}};
    for (const auto& [key, value] : row.parameters) line["parameters"][key] = parameter_json(value);
    if (const auto& error = row.position_error) {
      line[position_key] = error->largest;
      line[fmt::format("{}_relative_deviation", position_key)] = error->relative;
    }
    for (const Quantity& q : quantities_of(*this)) {
      line[q.key] = has_numbers(row) ? number(value_of(q, row)) : Json();
      if (base == nullptr || !q.compared) continue;
      line[fmt::format("{}_relative_deviation", q.key)] =
          is_whole(row) && is_whole(*base) ? number(deviation(q, row, base)) : Json();
    }
    line["folder"] = row.folder;
    line["failure"] = row.failure.empty() ? Json() : Json(row.failure);
    json["rows"].push_back(std::move(line));
  }
  return json.dump(2) + '\n';
}

std::string Comparison::markdown() const {
  std::string text = fmt::format("# {}: comparison of {}s\n\n{}\n", scenario,
                                 subject == "back-end" ? "contact back-end" : subject, table().markdown());
  text += first_contact_note;
  if (!reference.empty()) text += fmt::format("Percentages are deviations from {}.\n", reference);
  for (const ComparisonRow& row : rows) {
    if (!row.failure.empty()) text += fmt::format("\n**{}**: {}\n", row.backend, row.failure);
  }
  return text;
}

}  // namespace heelstrike::client
