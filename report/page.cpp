#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include "common/process/version.hpp"
#include "common/results/resolution.hpp"
#include "common/results/summary.hpp"
#include "report/contact_windows.hpp"
#include "report/html.hpp"
#include "report/map_peak.hpp"
#include "report/scene.hpp"
#include "report/units.hpp"

namespace heelstrike::report {
namespace {

constexpr std::size_t min_budget = 500;  // of one column, including extremes: about the pixels of a chart
constexpr std::size_t max_budget = 20'000;
constexpr std::size_t max_displayed_contacts = 200;

using Rows = std::vector<std::vector<std::string>>;

/// The body of a page: sections in order, and the list of contents.
class Sections {
 public:
  /// An empty content adds nothing.
  void add(const std::string& id, const std::string& heading, const std::string& content) {
    if (content.empty()) return;
    text_ += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, escaped(heading), content);
    contents_ += fmt::format("<a href=\"#{}\">{}</a>\n", id, escaped(heading));
  }
  /// Without an entry in the contents.
  void add_html(const std::string& html) { text_ += html; }
  [[nodiscard]] std::string html() const {
    return fmt::format("<nav class=\"contents no-print\" aria-label=\"Contents\">\n{}</nav>\n{}", contents_, text_);
  }

 private:
  std::string text_, contents_;
};

std::string status_text(const RunData& run) {
  if (!run.summary) return "incomplete";
  return run.summary->status;
}

std::size_t budget_for(std::span<const RunData> runs) {
  std::size_t n_columns = 1;
  for (const RunData& run : runs) n_columns += run.series.columns.size();
  // Thinned columns have separate times, hence the factor 2.
  return std::clamp(values_per_page / (2 * n_columns), min_budget, max_budget);
}

/// Prevents loading of external resources, whatever a page contains.
constexpr const char* policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

std::string document(const std::string& title, const std::string& header, const std::string& body, const Json& data) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n",
      policy, escaped(title));
  text += style_sheet();
  text += fmt::format("</style>\n</head>\n<body>\n<header><h1>{}</h1>{}</header>\n<main>\n{}</main>\n", escaped(title),
                      header, body);
  text += "<script type=\"application/json\" id=\"report-data\">" + script_json(data) + "</script>\n<script>\n";
  text += report_script();
  if (data.contains("scenes")) {
    text += "</script>\n<script>\n";
    text += fields_script();
  }
  return text + "</script>\n</body>\n</html>\n";
}

bool any_pairs(std::span<const RunData> runs) {
  return std::ranges::any_of(runs, has_pairs);
}

constexpr const char* waiting = "<p class=\"needs-script note\">Charts appear here when scripts are allowed.</p>";

/// @param with_window  whether the charts open with a part of the time
void add_chart_places(Sections& page, bool with_scatter, bool with_contact, bool with_window) {
  if (with_scatter) {
    page.add("speed-accuracy", "Accuracy against cost", fmt::format("<div id=\"scatter-chart\">{}</div>\n", waiting));
  }
  page.add("charts", "Over time",
           fmt::format("<p class=\"note no-print\">{}Drag to zoom, double-click or “Show all” to reset; click a "
                       "name to hide its curve. All charts share one time axis.</p>\n"
                       "<div id=\"time-charts\" class=\"charts\">{}</div>\n",
                       with_window ? "Charts open with the contacts. " : "", waiting));
  page.add_html("<div id=\"turn-charts\"></div>\n");
  if (!with_contact) return;
  page.add("loops", "Force against indentation",
           fmt::format("<div id=\"loop-charts\" class=\"charts\">{}</div>\n", waiting));
}

std::string link_to(const std::string& folder, const std::string& file) {
  const std::string path = folder.empty() ? file : folder + "/" + file;
  std::string url;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return fmt::format("<a href=\"{}\">{}</a>", url, escaped(path));
}

/// Runs drawn in 3D and as pressure maps: the number that fits side by side in a page.
std::span<const RunData> drawn(std::span<const RunData> runs) {
  return runs.first(std::min(runs.size(), runs_in_3d));
}

/// Shapes of the bodies without field files.
std::vector<Json> shapes_without_fields(const RunData& run) {
  std::vector<Json> shapes;
  const auto has_fields = [&](const Json& shape) {
    return !run.fields.is_null() && std::ranges::any_of(run.fields.at("parts"), [&](const Json& part) {
      return part.at("body") == shape.at("body");
    });
  };
  std::ranges::copy_if(run.shapes, std::back_inserter(shapes), std::not_fn(has_fields));
  return shapes;
}

/// Note on meshes drawn with fewer triangles, each file once.
std::string thinned_note(std::span<const RunData> runs) {
  std::vector<std::string> parts;
  for (const RunData& run : runs) {
    for (const Json& shape : shapes_without_fields(run)) {
      const std::size_t n = shape.at("triangles").at("n").get<std::size_t>() / 3;
      const std::size_t n_read = shape.at("n_read").get<std::size_t>();
      const std::string source = std::filesystem::path(shape.at("source").get<std::string>()).filename().string();
      std::string part = fmt::format("{} ({} of {})", escaped(source), n, n_read);
      if (n < n_read && std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
    }
  }
  if (parts.empty()) return {};
  return fmt::format("Drawn with fewer triangles than used in the run: {}.", fmt::join(parts, ", "));
}

std::string scenes_html(std::span<const RunData> runs) {
  std::string links;
  for (const RunData& run : drawn(runs)) {
    if (!run.fields.is_null()) links += " " + link_to(run.folder, "fields.pvd");
  }
  std::string text =
      "<div id=\"field-view\"><p class=\"needs-script note\">The bodies appear here when scripts are allowed."
      "</p></div>\n<p class=\"note\">";
  if (runs.size() > runs_in_3d) text += fmt::format("The first {} of {} runs. ", runs_in_3d, runs.size());
  if (!links.empty()) text += "For ParaView, in full precision:" + links + ". ";
  text += thinned_note(drawn(runs));
  return text + "</p>\n";
}

/// [{run, fields?, feet?, scene?, shapes?}] of the runs with drawable content; shapes are indices into `shapes`, where
/// each shared shape occurs once.
Json scenes_json(std::span<const RunData> runs, Json& shapes) {
  shapes = Json::array();
  Json json = Json::array();
  for (std::size_t r = 0; r < drawn(runs).size(); ++r) {
    const RunData& run = runs[r];
    if (run.series.rows() == 0 || (!run.model && run.fields.is_null())) continue;
    json.push_back({{"run", r}});
    if (run.model) json.back()["scene"] = scene_json(*run.model, run.series);
    if (!run.fields.is_null()) json.back()["fields"] = run.fields;
    if (Json feet = joined_feet_json(run.prints); !feet.empty()) json.back()["feet"] = std::move(feet);
    for (const Json& shape : shapes_without_fields(run)) {
      const auto known = std::ranges::find(shapes, shape);
      json.back()["shapes"].push_back(known - shapes.begin());
      if (known == shapes.end()) shapes.push_back(shape);
    }
  }
  return json;
}

/// One column of a table of loads. @param value  in SI
template <class Rows, class Value>
TableColumn column_of(const PageUnits& units, const char* heading, const char* unit, const Rows& rows,
                      const Value& value, int digits = 4) {
  std::vector<std::optional<double>> values;
  for (const auto& row : rows) values.push_back(value(row));
  return units.column(heading, unit, values, digits);
}

template <class Rows, class Text>
TableColumn texts_of(const char* heading, const Rows& rows, const Text& text) {
  TableColumn column{.heading = heading, .cells = {}};
  for (const auto& row : rows) column.cells.push_back(text(row));
  return column;
}

/// An instant, fine enough to distinguish the contacts of an impact.
std::string instant(double seconds) {
  return shown(seconds, 6);
}

std::string region_table(const FootPrint& print, const PageUnits& units) {
  using R = RegionLoad;
  const auto& rows = print.regions->rows();
  return fmt::format("<h3>Regions: {}</h3>\n", escaped(print.label)) +
         html_table({texts_of("region", rows, [](const R& r) { return r.name; }),
                     column_of(units, "peak pressure", "Pa", rows, [](const R& r) { return r.peak_pressure; }),
                     texts_of("at [s]", rows, [](const R& r) { return instant(r.peak_time); }),
                     column_of(units, "mean pressure", "Pa", rows, [](const R& r) { return r.mean_pressure; }),
                     column_of(units, "force", "N", rows, [](const R& r) { return r.force; }),
                     column_of(units, "loaded area", "m²", rows, [](const R& r) { return r.area; }),
                     column_of(units, "pressure-time integral", "Pa s", rows,
                               [](const R& r) { return r.pressure_integral; })}) +
         fmt::format(
             "<p class=\"note\">Peak values over the frames, for every region at its own time; force and area on the "
             "undeformed surface. Heel, midfoot and metatarsals are equal thirds of the foot without its toes, as for "
             "the "
             "arch index of Cavanagh and Rodgers (1987); the beginning of the toes at {:.0f} % of the length and the "
             "hallux as the medial 35 % of their breadth are conventions of Heelstrike.</p>\n",
             100.0 * default_toe_line);
}

/// " (peak force of the run: 5 N at 0.1 s)", which may be between the written frames.
std::string peak_of_run(const RunData& run, const FootPrint& print) {
  if (!run.summary) return {};
  const ContactEpisode* highest = nullptr;
  for (const ContactEpisode& e : run.summary->contacts) {
    if (e.pair == print.parts.front().pair && (highest == nullptr || e.max_force > highest->max_force)) highest = &e;
  }
  if (highest == nullptr) return {};
  return fmt::format(" (peak force of the run: {} N at {} s)", shown(highest->max_force),
                     instant(highest->max_force_time));
}

/// Each region at the time of its peak force.
std::string face_load_table(const RunData& run, const FootPrint& print, const PageUnits& units) {
  const RegionLoads& loads = *print.loads;
  struct Row {
    std::string name;
    double time;
    FaceLoad load;
  };
  std::vector<Row> rows;
  for (std::size_t r = 0; r < loads.names().size(); ++r) {
    const auto heaviest =
        std::ranges::max_element(loads.loads(), {}, [&](const std::vector<FaceLoad>& frame) { return frame[r].force; });
    const auto frame = static_cast<std::size_t>(heaviest - loads.loads().begin());
    rows.push_back({.name = loads.names()[r], .time = loads.times()[frame], .load = (*heaviest)[r]});
  }
  return fmt::format("<h3>Loads: {}</h3>\n", escaped(print.label)) +
         html_table({texts_of("region", rows, [](const Row& r) { return r.name; }),
                     texts_of("at [s]", rows, [](const Row& r) { return instant(r.time); }),
                     column_of(units, "normal force", "N", rows, [](const Row& r) { return r.load.force; }),
                     column_of(units, "loaded area", "m²", rows, [](const Row& r) { return r.load.area; }),
                     column_of(units, "mean pressure", "Pa", rows, [](const Row& r) { return r.load.mean(); }),
                     column_of(units, "peak pressure", "Pa", rows, [](const Row& r) { return r.load.peak; }),
                     column_of(units, "penetration", "m", rows, [](const Row& r) { return r.load.penetration; }),
                     texts_of("loaded faces", rows, [](const Row& r) { return fmt::format("{}", r.load.active); })}) +
         fmt::format(
             "<p class=\"note\">Each region at the frame of its peak force, of the {} written {}{}: pressure "
             "summed over its faces, magnitudes only. All frames, with centres of pressure, are in "
             "contact_regions.csv.</p>\n",
             loads.times().size(), loads.times().size() == 1 ? "frame" : "frames", peak_of_run(run, print));
}

/// Why the peak of a map differs from that of the time series, where it does.
std::string peak_notes(const RunData& run, bool several, const PageUnits& units) {
  std::string text;
  for (const FootPrint& print : run.prints) {
    const MapPeak peak = compare_map_peak(print, run.series, run.field_times);
    if (peak.reason.empty()) continue;
    const DisplayUnit unit = units.of("Pa", peak.of_series);
    text += fmt::format("<p class=\"note\">{}{}: {} {} in the map, {} {} in charts and tables (at {} s): {}</p>\n",
                        several ? escaped(run.label) + ", " : std::string(), escaped(print.label),
                        shown(unit.factor * peak.of_map), unit.name, shown(unit.factor * peak.of_series), unit.name,
                        instant(peak.time), peak.reason);
  }
  return text;
}

/// False for maps of zeros, e.g. of a run that failed before its first contact.
bool has_pressure(std::span<const RunData> runs) {
  return std::ranges::any_of(drawn(runs), [](const RunData& run) { return find_peak_pressure(run.prints) > 0.0; });
}

std::string pressure_html(std::span<const RunData> runs, const PageUnits& units) {
  if (!has_pressure(runs)) return {};
  std::string text =
      "<div id=\"pressure-maps\" class=\"charts\"><p class=\"needs-script note\">The maps appear here when scripts are "
      "allowed.</p></div>\n<p class=\"note\">Peak contact pressure of every point over the run, on the undeformed body "
      "in the body frame, with the path of the centre of pressure. Grey areas are unloaded. All maps share one scale.";
  if (runs.size() > runs_in_3d) text += fmt::format(" The first {} of {} runs.", runs_in_3d, runs.size());
  text += "</p>\n";
  for (const RunData& run : drawn(runs)) text += peak_notes(run, runs.size() > 1, units);
  if (runs.size() == 1) {
    for (const FootPrint& print : runs[0].prints) {
      if (print.regions) text += region_table(print, units);
      if (print.loads && !print.loads->times().empty()) text += face_load_table(runs[0], print, units);
    }
  }
  return text;
}

/// Maps of all runs with a common scale; maps of a comparison are labelled by run.
Json prints_json(std::span<const RunData> runs) {
  double high = 0.0;
  for (const RunData& run : drawn(runs)) high = std::max(high, find_peak_pressure(run.prints));
  Json json = Json::array();
  for (const RunData& run : drawn(runs)) {
    for (Json& print : foot_prints_json(run.prints, high)) {
      if (runs.size() > 1) print["run"] = run.label;
      json.push_back(std::move(print));
    }
  }
  return json;
}

std::string facts_table(std::span<const RunData> runs) {
  const bool with_contact = any_pairs(runs);
  Rows rows;
  for (const RunData& run : runs) {
    std::vector<std::string> row = {run.label};
    if (with_contact) row.push_back(run.summary ? run.summary->backend : "-");
    row.push_back(status_text(run));
    row.push_back(run.summary ? instant(run.summary->simulated_time) : "-");
    row.push_back(fmt::format("{}", run.series.rows()));
    row.push_back(run.scenario_digest.substr(0, 16));
    rows.push_back(std::move(row));
  }
  std::vector<std::string> header = {"run", "status", "simulated time [s]", "rows", "sha256 of the scenario"};
  if (with_contact) header.insert(header.begin() + 1, "back-end");
  std::string text = html_table(header, rows);
  text += "<p>Full data: ";
  for (const RunData& run : runs) {
    text += link_to(run.folder, run.table) + " " + link_to(run.folder, "summary.json") + " ";
  }
  return text +
         fmt::format("</p>\n<p class=\"note\">Heelstrike {}, contract {}.</p>\n", program_version, contract_version);
}

std::string problems(std::span<const RunData> runs) {
  std::string text;
  for (const RunData& run : runs) {
    if (run.incomplete.empty()) continue;
    const bool continues = run.summary && run.summary->status == "cancelled";
    text += fmt::format("<p class=\"status incomplete\">{}: {}{}</p>\n", escaped(run.label), escaped(run.incomplete),
                        continues ? "; heelstrike resume with this folder continues it" : "");
  }
  return text;
}

/// Largest value of a column between two times; none for zeros and without the column.
std::optional<double> largest_between(const TimeSeries& series, const std::string& column, double from, double to) {
  const std::size_t n = series.columns.size();
  const auto found = std::ranges::find(series.columns, column);
  const auto at = static_cast<std::size_t>(found - series.columns.begin());
  double largest = 0.0;
  for (std::size_t r = 0; at < n && r < series.rows(); ++r) {
    const double t = series.values[r * n];
    if (t >= from && t <= to) largest = std::max(largest, series.values[r * n + at]);
  }
  return largest > 0.0 ? std::optional(largest) : std::nullopt;
}

std::string contact_table(std::span<const RunData> runs, const PageUnits& units) {
  struct Row {
    const RunData* run;
    const ContactEpisode* contact;
    double end;  ///< [s] of the contact or of the run
  };
  using E = const Row&;
  std::vector<Row> rows;
  std::vector<std::string> attributes;
  std::size_t n_skipped = 0;
  for (const RunData& run : runs) {
    if (!run.summary) continue;
    for (const ContactEpisode& e : run.summary->contacts) {
      if (rows.size() == max_displayed_contacts) {
        ++n_skipped;
        continue;
      }
      rows.push_back({.run = &run, .contact = &e, .end = e.end.value_or(run.summary->simulated_time)});
      attributes.push_back(fmt::format("data-onset=\"{}\" data-end=\"{}\"", e.onset, rows.back().end));
    }
  }
  if (rows.empty()) return "<p>No contact.</p>\n";
  const auto number = [&](const char* heading, const char* unit, auto ContactEpisode::*member) {
    return column_of(units, heading, unit, rows, [&](E row) { return std::optional<double>(row.contact->*member); });
  };
  const auto peak = [&](const char* heading, const char* unit, const char* column) {
    return column_of(units, heading, unit, rows, [column](E row) {
      return largest_between(row.run->series, row.contact->pair + column, row.contact->onset, row.end);
    });
  };
  const auto time = [](const std::optional<double>& t) { return t ? instant(*t) : std::string("-"); };
  std::string text = html_table(
      {texts_of("run", rows, [](E row) { return row.run->label; }),
       texts_of("pair", rows, [](E row) { return row.contact->pair; }),
       texts_of("onset [s]", rows, [&](E row) { return time(row.contact->onset); }),
       texts_of("end [s]", rows, [&](E row) { return time(row.contact->end); }),
       column_of(units, "peak force", "N", rows,
                 [](E row) { return std::optional(displayed_force(*row.contact, *row.run->summary)); }),
       column_of(units, "peak indentation", "m", rows, [](E row) { return displayed_indentation(*row.contact); }),
       peak("peak pressure", "Pa", ".peak_pressure_Pa"), peak("peak area", "m²", ".area_m2"),
       number("approach velocity", "m/s", &ContactEpisode::approach_velocity),
       number("separation velocity", "m/s", &ContactEpisode::separation_velocity),
       number("restitution", "", &ContactEpisode::effective_restitution),
       number("peak impulse", "N s", &ContactEpisode::max_impulse),
       texts_of("", rows, [](E) { return std::string(); })},
      attributes);
  if (n_skipped > 0) text += fmt::format("<p class=\"note\">{} more in summary.json.</p>\n", n_skipped);
  return text;
}

/// False for a run that ended before its first step: it has no statistics.
bool has_statistics(const RunData& run) {
  return run.summary && (run.summary->simulated_time > 0.0 || run.summary->status == "completed");
}

/// Without a pair of bodies in contact, there are no columns of it. Empty where no run has statistics.
std::string cost_table(std::span<const RunData> runs, const PageUnits& units) {
  using R = const RunData*;
  std::vector<R> rows;
  for (const RunData& run : runs) {
    if (has_statistics(run)) rows.push_back(&run);
  }
  if (rows.empty()) return {};
  const auto count = [&](const char* heading, std::int64_t IntegratorStatistics::*member) {
    return texts_of(heading, rows, [&](R run) { return fmt::format("{}", run->summary->integrator.*member); });
  };
  const auto duration = [&](const char* heading, double RpcStatistics::*member) {
    return column_of(
        units, heading, "s", rows,
        [&](R run) {
          const auto& rpc = run->summary->rpc;
          return rpc && rpc->calls > 1 ? std::optional(1e-6 * ((*rpc).*member)) : std::nullopt;
        },
        3);
  };
  const auto wall_time = [](R run) { return run->summary->wall_time; };
  return html_table(
      {texts_of("run", rows, [](R run) { return run->label; }),
       texts_of("integrator", rows, [](R run) { return run->summary->integrator.name; }),
       count("steps", &IntegratorStatistics::steps), count("rejected", &IntegratorStatistics::rejected_steps),
       count("right-hand sides", &IntegratorStatistics::rhs_evaluations),
       count("Jacobians", &IntegratorStatistics::jacobian_evaluations),
       texts_of("contact evaluations", rows,
                [](R run) {
                  return has_pairs(*run) ? fmt::format("{}", run->summary->contact_evaluations) : std::string("-");
                }),
       texts_of("wall time [s]", rows, [&](R run) { return shown(wall_time(run), 3); }),
       texts_of("real-time factor", rows,
                [&](R run) {
                  const double wall = wall_time(run);
                  return shown(wall > 0.0 ? run->summary->simulated_time / wall : 0.0, 3);
                }),
       texts_of(
           "exchanges", rows,
           [](R run) { return run->summary->rpc ? fmt::format("{}", run->summary->rpc->calls) : std::string("-"); }),
       duration("median time of an exchange", &RpcStatistics::p50_us),
       duration("99th percentile", &RpcStatistics::p99_us)});
}

/// Breakdown of the measured wall time.
std::string wall_time_table(std::span<const RunData> runs) {
  Rows rows;
  for (const RunData& run : runs) {
    if (!run.summary || !(run.summary->wall_time > 0.0)) continue;
    const WallTimeSplit& w = run.summary->wall_times;
    const double measured = w.preparation + w.contact + w.transport + w.fields;
    // Run folders of earlier versions lack these values.
    if (measured == 0.0 && run.summary->contact_evaluations > 0) continue;
    const double whole = run.summary->wall_time;
    std::vector<std::string> row = {run.label};
    for (const double part : {w.preparation, w.contact, w.transport, w.fields, std::max(0.0, whole - measured)}) {
      row.push_back(fmt::format("{} ({:.0f} %)", shown(part, 3), 100.0 * part / whole));
    }
    row.push_back(shown(whole, 3));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  return "<h3>Breakdown of the wall time [s]</h3>\n" +
         html_table({"run", "preparation", "contact", "transport", "fields", "integration, output", "whole"}, rows) +
         "<p class=\"note\">Preparation: until the contact sessions were open. Contact: computation of evaluations and "
         "commits. Transport: additional time of exchanges with another process. Fields: for files, including "
         "transport. The remainder is integration, kinematics, result rows.</p>\n";
}

std::string share_text(const EnergyBalance& energy) {
  const auto share = balance_error_is_rounding(energy) ? std::nullopt : relative_balance_error(energy);
  return share ? shown(100.0 * *share, 2) + " %" : "-";
}

/// Empty where no run has a balance, e.g. for static analyses.
std::string energy_table(std::span<const RunData> runs, const PageUnits& units) {
  std::vector<const RunData*> rows;
  for (const RunData& run : runs) {
    if (has_statistics(run) && !std::isnan(run.summary->energy.balance_error)) rows.push_back(&run);
  }
  if (rows.empty()) return {};
  using R = const RunData*;
  const bool prescribed =
      std::ranges::any_of(rows, [](R r) { return r->model && r->model->analysis.traits.prescribed; });
  const auto number = [&](const char* heading, double EnergyBalance::*member) {
    return column_of(units, heading, "J", rows, [&](R run) { return to_resolution(run->summary->energy).*member; });
  };
  return html_table(
             {texts_of("run", rows, [](R run) { return run->label; }), number("start", &EnergyBalance::initial),
              number("end", &EnergyBalance::final), number("dissipated", &EnergyBalance::dissipated),
              number("work of loads and drivers", &EnergyBalance::external_work),
              number("balance error", &EnergyBalance::balance_error),
              texts_of("of the energy exchanged", rows, [](R run) { return share_text(run->summary->energy); })}) +
         (prescribed ? "<p class=\"note\">For prescribed motion, the balance is without the contact, whose work is its "
                       "stored and dissipated energy.</p>"
                     : "");
}

std::string scenario_texts(std::span<const RunData> runs) {
  std::string text;
  for (const RunData& run : runs) {
    text += fmt::format("<details{}><summary>{}</summary>\n<p class=\"digest\">sha256 {}</p><pre>{}</pre></details>\n",
                        "", escaped(run.label), run.scenario_digest, escaped(run.scenario));
  }
  return text;
}

void add_common_sections(Sections& page, std::span<const RunData> runs, const PageUnits& units, bool with_scatter) {
  const bool with_contact = any_pairs(runs);
  add_chart_places(page, with_scatter, with_contact, contact_windows(runs).first.has_value());
  if (with_contact) page.add("contacts", "Contacts", contact_table(runs, units));
  page.add("cost", "Cost", cost_table(runs, units) + (with_contact ? wall_time_table(runs) : std::string()));
  page.add("energy", "Energy balance", energy_table(runs, units));
  page.add("scenario", "Scenario as run", scenario_texts(runs));
}

/// Below the title: the description of the scenario.
std::string description_of(std::span<const RunData> runs) {
  const auto described =
      std::ranges::find_if(runs, [](const RunData& run) { return run.model && !run.model->description.empty(); });
  return described == runs.end()
             ? std::string()
             : fmt::format("<p class=\"description\">{}</p>\n", escaped(described->model->description));
}

constexpr std::string_view deviation_ending = "_relative_deviation";

struct Quantity {
  std::string key;
  const char* label;
  const char* unit;
};
const std::vector<Quantity>& accuracies() {
  static const std::vector<Quantity> all = {{"max_force_N", "peak force", "N"},
                                            {"max_indentation_m", "peak indentation", "m"},
                                            {"peak_pressure_Pa", "peak pressure", "Pa"},
                                            {"area_m2", "peak contact area", "m²"},
                                            {"contact_duration_s", "contact duration", "s"},
                                            {"separation_velocity_m_s", "separation velocity", "m/s"},
                                            {"effective_restitution", "restitution", ""},
                                            {"position_error_m", "position error", "m"}};
  return all;
}
const std::vector<Quantity>& costs() {
  static const std::vector<Quantity> all = {{"wall_time_s", "wall time", "s"},
                                            {"contact_evaluations", "contact evaluations", ""},
                                            {"steps", "steps", ""},
                                            {"exchanges", "exchanges", ""},
                                            {"coupling_iterations", "coupling iterations", ""}};
  return all;
}

std::optional<double> number_at(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// Quantities with a value other than zero in any row: only coupling schemes have exchanges.
std::vector<Quantity> known(const std::vector<Quantity>& quantities, const Json& comparison) {
  std::vector<Quantity> known;
  std::ranges::copy_if(quantities, std::back_inserter(known), [&](const Quantity& q) {
    return std::ranges::any_of(comparison.at("rows"),
                               [&](const Json& row) { return number_at(row, q.key).value_or(0.0) != 0.0; });
  });
  return known;
}

bool is_sweep(const Json& comparison) {
  const Json& rows = comparison.at("rows");
  return !rows.empty() && rows[0].contains("parameters");
}

TableColumn quantity_column(const Json& comparison, const Quantity& quantity, const PageUnits& units) {
  return column_of(units, quantity.label, quantity.unit, comparison.at("rows"),
                   [&](const Json& row) { return number_at(row, quantity.key); });
}

/// The runs of a comparison, or the varied keys of a sweep.
std::vector<TableColumn> row_names(const Json& comparison) {
  const Json& rows = comparison.at("rows");
  if (!is_sweep(comparison)) {
    return {texts_of("run", rows, [](const Json& row) { return row.at("backend").get<std::string>(); })};
  }
  std::vector<TableColumn> columns;
  for (const auto& [key, value] : rows[0].at("parameters").items()) {
    const std::string heading = with_unit(key, comparison.value("units", Json::object()).value(key, ""));
    columns.push_back(texts_of(heading.c_str(), rows, [&key](const Json& row) {
      const Json& own = row.at("parameters").at(key);
      return own.is_number() ? shown(own.get<double>(), 6) : own.is_string() ? own.get<std::string>() : own.dump();
    }));
  }
  return columns;
}

/// Results, their deviations from the reference, and the cost of every run.
std::string comparison_tables(const Json& comparison, const PageUnits& units) {
  const bool compared = comparison.at("reference").is_string();
  const Json& rows = comparison.at("rows");
  const std::vector<TableColumn> names = row_names(comparison);
  std::vector<TableColumn> results = names, deviations = names, cost = names;
  results.push_back(texts_of("status", rows, [](const Json& row) { return row.at("status").get<std::string>(); }));
  for (const Quantity& q : known(accuracies(), comparison)) {
    results.push_back(quantity_column(comparison, q, units));
    deviations.push_back(texts_of(q.label, rows, [&](const Json& row) {
      const auto deviation = number_at(row, q.key + std::string(deviation_ending));
      // Without the sign of a deviation that rounds to zero.
      return deviation ? fmt::format("{:+.2f} %", std::round(1e4 * *deviation) / 100.0 + 0.0) : std::string("-");
    }));
  }
  for (const Quantity& q : known(costs(), comparison)) cost.push_back(quantity_column(comparison, q, units));
  std::string text = html_table(results);
  if (compared) {
    text += fmt::format("<h3>Deviations from {}</h3>\n", escaped(comparison.at("reference").get<std::string>())) +
            html_table(deviations);
  }
  text += "<h3>Cost</h3>\n" + html_table(cost) +
          "<p class=\"note\">Force, indentation, duration, velocity and restitution are those of the first contact; "
          "pressure and area are the peak values of the run.";
  text += compared || is_sweep(comparison) ? "</p>\n" : " No reference; --reference NAME adds deviations.</p>\n";
  for (const Json& row : rows) {
    if (!row.at("failure").is_string()) continue;
    text += fmt::format("<p class=\"status failed\">{}: {}</p>\n", escaped(row.at("backend").get<std::string>()),
                        escaped(row.at("failure").get<std::string>()));
  }
  return text;
}

Json quantities_json(const std::vector<Quantity>& quantities) {
  Json json = Json::array();
  for (const Quantity& q : quantities) json.push_back({{"key", q.key}, {"label", q.label}, {"unit", q.unit}});
  return json;
}

Json scatter_json(const Json& comparison) {
  Json rows = Json::array();
  for (const Json& row : comparison.at("rows")) {
    Json line = {{"label", row.at("backend")}, {"accuracy", Json::object()}, {"cost", Json::object()}};
    for (const Quantity& q : known(accuracies(), comparison)) {
      const auto value = number_at(row, q.key + std::string(deviation_ending));
      line["accuracy"][q.key] = value ? Json(*value) : Json();
    }
    for (const Quantity& q : known(costs(), comparison)) {
      const auto value = number_at(row, q.key);
      line["cost"][q.key] = value ? Json(*value) : Json();
    }
    rows.push_back(std::move(line));
  }
  return {{"reference", comparison.at("reference")},
          {"rows", rows},
          {"accuracy", quantities_json(known(accuracies(), comparison))},
          {"cost", quantities_json(known(costs(), comparison))}};
}

/// {parameters: [key], units: {key: unit}, results: [{key, label, unit}], rows: [{label, parameters: {key: value},
/// results: {key: value}}]}
Json sweep_json(const Json& comparison) {
  Json json = {{"parameters", Json::array()},
               {"results", quantities_json(known(accuracies(), comparison))},
               {"rows", Json::array()}};
  for (Json& cost : quantities_json(known(costs(), comparison))) json["results"].push_back(std::move(cost));
  for (const auto& [key, value] : comparison.at("rows")[0].at("parameters").items()) json["parameters"].push_back(key);
  json["units"] = comparison.value("units", Json::object());
  for (const Json& row : comparison.at("rows")) {
    Json line = {{"label", row.at("backend")}, {"parameters", row.at("parameters")}, {"results", Json::object()}};
    for (const Json& result : json["results"]) {
      const std::string key = result.at("key");
      if (const auto value = number_at(row, key)) line["results"][key] = *value;
    }
    json["rows"].push_back(std::move(line));
  }
  return json;
}

constexpr const char* sweep_place =
    "<div id=\"sweep-chart\"><p class=\"needs-script note\">The chart appears here when scripts are "
    "allowed.</p></div>\n";

/// Curves, 3D views and maps of the runs.
Json page_data(std::span<const RunData> runs, const PageUnits& units) {
  Json data = {{"runs", Json::array()}, {"highs", units.json()}, {"windows", windows_json(runs)}};
  for (const RunData& run : runs) data["runs"].push_back(charts_json(run, budget_for(runs)));
  Json shapes;
  if (Json scenes = scenes_json(runs, shapes); !scenes.empty()) data["scenes"] = std::move(scenes);
  if (!shapes.empty()) data["shapes"] = std::move(shapes);
  if (has_pressure(runs)) data["prints"] = prints_json(runs);
  return data;
}

}  // namespace

std::string run_page(const RunData& run) {
  const std::span<const RunData> runs(&run, 1);
  std::string title = run.label;
  if (run.summary) {
    title = run.summary->scenario;
    if (has_pairs(run)) title += fmt::format(" with {}", run.summary->backend);
  }
  const std::string header = fmt::format("<span class=\"status {0}\">{0}</span>", escaped(status_text(run)));
  const PageUnits units = units_of(runs);
  const Json data = page_data(runs, units);
  Sections page;
  page.add_html(problems(runs));
  page.add("what", "Run parameters", facts_table(runs));
  page.add("pressure", "Pressure map", pressure_html(runs, units));
  if (data.contains("scenes")) page.add("fields", "In 3D", scenes_html(runs));
  add_common_sections(page, runs, units, false);
  return document(title, header, description_of(runs) + page.html(), data);
}

std::string comparison_page(const Json& comparison, std::span<const RunData> runs) {
  const bool compared = comparison.at("reference").is_string();
  const bool sweep = is_sweep(comparison);
  PageUnits units = units_of(runs);
  const std::string title =
      fmt::format("{}: {}", comparison.at("scenario").get<std::string>(), sweep ? "sweep" : "comparison");
  Json data = page_data(runs, units);
  if (compared) data["comparison"] = scatter_json(comparison);
  if (sweep) data["sweep"] = sweep_json(comparison);
  Sections page;
  if (sweep) page.add("sweep", "Result against parameter", sweep_place);
  page.add("comparison", sweep ? "Results and cost" : "Accuracy and cost", comparison_tables(comparison, units));
  page.add_html(problems(runs));
  const std::size_t n_rows = comparison.at("rows").size();
  if (n_rows > max_runs_with_curves) {
    page.add_html(fmt::format("<p class=\"note\">Below: the first {} of {} runs.</p>\n", runs.size(), n_rows));
  }
  page.add("pressure", "Pressure map", pressure_html(runs, units));
  if (data.contains("scenes")) page.add("fields", "In 3D", scenes_html(runs));
  add_common_sections(page, runs, units, compared);
  page.add("what", "Run parameters", facts_table(runs));
  const std::size_t n_planned = comparison.value("planned", n_rows);
  const std::string header = n_planned > n_rows
                                 ? fmt::format("<span>{} of {} runs so far; reload for more</span>", n_rows, n_planned)
                                 : fmt::format("<span>{} {}</span>", n_rows, n_rows == 1 ? "run" : "runs");
  return document(title, header, description_of(runs) + page.html(), data);
}

std::string measurement_page(const GrfPage& page, const Json& stances) {
  std::string tables;
  for (const PageTable& table : page.tables) {
    tables += fmt::format("<h3>{}</h3>\n", escaped(table.heading)) + html_table(table.header, table.rows);
    if (!table.note.empty()) tables += fmt::format("<p class=\"note\">{}</p>\n", escaped(table.note));
    tables += plan_view_svg(table.figure);
  }
  Sections sections;
  sections.add("comparison", "Comparison of the run with the plates", tables);
  sections.add("charts", "Over the stance",
               fmt::format("<p class=\"note no-print\">Drag to zoom, double-click or “Show all” to reset; click a name "
                           "to hide its curve.</p>\n<div id=\"stance-charts\">{}</div>\n",
                           waiting));
  sections.add("what", "Compared data",
               fmt::format("<p>Run {}, measurement {}. Forces, free moments and centres of pressure in the axes of the "
                           "measurement.</p>\n",
                           escaped(page.run), escaped(page.measured)));
  const Json data = {{"runs", Json::array()}, {"stances", stances}};
  return document(page.run + " and force plates", "", sections.html(), data);
}

}  // namespace heelstrike::report
