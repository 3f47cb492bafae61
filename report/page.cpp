#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include "common/process/version.hpp"
#include "common/results/summary.hpp"
#include "common/text/table.hpp"
#include "report/html.hpp"
#include "report/scene.hpp"

namespace heelstrike::report {
namespace {

constexpr std::size_t min_budget = 500;  // of one column, including extremes: about the pixels of a chart
constexpr std::size_t max_budget = 20'000;
constexpr std::size_t max_displayed_contacts = 200;

using Rows = std::vector<std::vector<std::string>>;

std::string text_of(const std::optional<double>& value) {
  return value ? number_text(*value) : "-";
}

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

std::string section(const std::string& id, const std::string& heading, const std::string& content) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, escaped(heading), content);
}

bool any_pairs(std::span<const RunData> runs) {
  return std::ranges::any_of(runs, has_pairs);
}

std::string chart_places(bool with_scatter, bool with_contact) {
  std::string text;
  const std::string waiting = "<p class=\"needs-script note\">Charts appear here when scripts are allowed.</p>";
  if (with_scatter) {
    text += section("speed-accuracy", "Accuracy against cost",
                    fmt::format("<div id=\"scatter-chart\">{}</div>\n", waiting));
  }
  text += section("charts", "Over time",
                  fmt::format("<p class=\"note no-print\">{}Drag to zoom, double-click or “Show all” to reset; click a "
                              "name to hide its curve. All charts share one time axis.</p>\n"
                              "<div id=\"time-charts\" class=\"charts\">{}</div>\n",
                              with_contact ? "Charts open with the contacts. " : "", waiting));
  text += "<div id=\"turn-charts\"></div>\n";
  if (!with_contact) return text;
  return text + section("loops", "Force against indentation",
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

std::string scenes_section(std::span<const RunData> runs) {
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
  return section("fields", "In 3D", text + "</p>\n");
}

/// [{run, fields?, scene?, shapes?}] of the runs with drawable content; shapes are indices into `shapes`, where each
/// shared shape occurs once.
Json scenes_json(std::span<const RunData> runs, Json& shapes) {
  shapes = Json::array();
  Json json = Json::array();
  for (std::size_t r = 0; r < drawn(runs).size(); ++r) {
    const RunData& run = runs[r];
    if (run.series.rows() == 0 || (!run.model && run.fields.is_null())) continue;
    json.push_back({{"run", r}});
    if (run.model) json.back()["scene"] = scene_json(*run.model, run.series);
    if (!run.fields.is_null()) json.back()["fields"] = run.fields;
    for (const Json& shape : shapes_without_fields(run)) {
      const auto known = std::ranges::find(shapes, shape);
      json.back()["shapes"].push_back(known - shapes.begin());
      if (known == shapes.end()) shapes.push_back(shape);
    }
  }
  return json;
}

std::string region_table(const FootPrint& print) {
  Rows rows;
  for (const RegionLoad& r : print.regions->rows()) {
    rows.push_back({r.name, number_text(1e-3 * r.peak_pressure, 4), number_text(r.peak_time, 4),
                    number_text(1e-3 * r.mean_pressure, 4), number_text(r.force, 4), number_text(1e4 * r.area, 4),
                    number_text(1e-3 * r.pressure_integral, 4)});
  }
  return fmt::format("<h3>Regions: {}</h3>\n", escaped(print.label)) +
         html_table({"region", "peak pressure [kPa]", "at [s]", "mean pressure [kPa]", "force [N]", "loaded area [cm²]",
                     "pressure-time integral [kPa s]"},
                    rows) +
         fmt::format(
             "<p class=\"note\">Peak values over the frames, for every region at its own time; force and area on the "
             "undeformed surface. Heel, midfoot and metatarsals are equal thirds of the foot without its toes, as for "
             "the "
             "arch index of Cavanagh and Rodgers (1987); the beginning of the toes at {:.0f} % of the length and the "
             "hallux as the medial 35 % of their breadth are conventions of Heelstrike.</p>\n",
             100.0 * default_toe_line);
}

/// Each region at the time of its peak force.
std::string face_load_table(const FootPrint& print) {
  const RegionLoads& loads = *print.loads;
  Rows rows;
  for (std::size_t r = 0; r < loads.names().size(); ++r) {
    const auto heaviest =
        std::ranges::max_element(loads.loads(), {}, [&](const std::vector<FaceLoad>& frame) { return frame[r].force; });
    const FaceLoad& load = (*heaviest)[r];
    const double time = loads.times()[static_cast<std::size_t>(heaviest - loads.loads().begin())];
    rows.push_back({loads.names()[r], number_text(time, 4), number_text(load.force, 4), number_text(1e4 * load.area, 4),
                    number_text(1e-6 * load.mean(), 4), number_text(1e-6 * load.peak, 4),
                    number_text(1e3 * load.penetration, 4), fmt::format("{}", load.active)});
  }
  return fmt::format("<h3>Loads: {}</h3>\n", escaped(print.label)) +
         html_table({"region", "at [s]", "normal force [N]", "loaded area [cm²]", "mean pressure [MPa]",
                     "peak pressure [MPa]", "penetration [mm]", "loaded faces"},
                    rows) +
         "<p class=\"note\">Each region at the frame of its peak force: pressure summed over its faces, magnitudes "
         "only. All frames, with centres of pressure, are in contact_regions.csv.</p>\n";
}

std::string pressure_section(std::span<const RunData> runs) {
  if (std::ranges::all_of(drawn(runs), [](const RunData& run) { return run.prints.empty(); })) return {};
  std::string text =
      "<div id=\"pressure-maps\" class=\"charts\"><p class=\"needs-script note\">The maps appear here when scripts are "
      "allowed.</p></div>\n<p class=\"note\">Peak contact pressure of every point over the run, on the undeformed body "
      "in the body frame, with the path of the centre of pressure. Grey areas are unloaded. All maps share one scale.";
  if (runs.size() > runs_in_3d) text += fmt::format(" The first {} of {} runs.", runs_in_3d, runs.size());
  text += "</p>\n";
  if (runs.size() == 1) {
    for (const FootPrint& print : runs[0].prints) {
      if (print.regions) text += region_table(print);
      if (print.loads && !print.loads->times().empty()) text += face_load_table(print);
    }
  }
  return section("pressure", "Pressure map", text);
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
    row.push_back(run.summary ? number_text(run.summary->simulated_time) : "-");
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
    text += fmt::format("<p class=\"status incomplete\">{}: {}</p>\n", escaped(run.label), escaped(run.incomplete));
  }
  return text;
}

std::string contact_table(std::span<const RunData> runs) {
  Rows rows;
  std::vector<std::string> attributes;
  std::size_t n_skipped = 0;
  bool impacts = false;
  for (const RunData& run : runs) {
    impacts = impacts || (run.summary && std::ranges::any_of(run.summary->contacts, [](const ContactEpisode& e) {
                            return e.max_impulse.has_value();
                          }));
  }
  for (const RunData& run : runs) {
    if (!run.summary) continue;
    for (const ContactEpisode& e : run.summary->contacts) {
      if (rows.size() == max_displayed_contacts) {
        ++n_skipped;
        continue;
      }
      rows.push_back({run.label, e.pair, number_text(e.onset, 8), e.end ? number_text(*e.end, 8) : "-",
                      number_text(e.max_force), number_text(e.max_indentation), number_text(e.approach_velocity),
                      text_of(e.separation_velocity), text_of(e.effective_restitution)});
      if (impacts) rows.back().push_back(text_of(e.max_impulse));
      rows.back().emplace_back();
      attributes.push_back(
          fmt::format("data-onset=\"{}\" data-end=\"{}\"", e.onset, e.end.value_or(run.summary->simulated_time)));
    }
  }
  if (rows.empty()) return "<p>No contact.</p>\n";
  std::vector<std::string> header = {"run",
                                     "pair",
                                     "onset [s]",
                                     "end [s]",
                                     "peak force [N]",
                                     "peak indentation [m]",
                                     "approach velocity [m/s]",
                                     "separation velocity [m/s]",
                                     "restitution"};
  if (impacts) header.emplace_back("peak impulse [N s]");
  header.emplace_back();
  std::string text = html_table(header, rows, attributes);
  if (n_skipped > 0) text += fmt::format("<p class=\"note\">{} more in summary.json.</p>\n", n_skipped);
  return text;
}

std::string cost_table(std::span<const RunData> runs) {
  Rows rows;
  for (const RunData& run : runs) {
    if (!run.summary) continue;
    const RunSummary& s = *run.summary;
    const double factor = s.wall_time > 0.0 ? s.simulated_time / s.wall_time : 0.0;
    rows.push_back({run.label, s.integrator.name, fmt::format("{}", s.integrator.steps),
                    fmt::format("{}", s.integrator.rejected_steps), fmt::format("{}", s.integrator.rhs_evaluations),
                    fmt::format("{}", s.integrator.jacobian_evaluations), fmt::format("{}", s.contact_evaluations),
                    number_text(s.wall_time, 3), number_text(factor, 3), s.rpc ? fmt::format("{}", s.rpc->calls) : "-",
                    s.rpc ? number_text(s.rpc->p50_us, 3) : "-", s.rpc ? number_text(s.rpc->p99_us, 3) : "-"});
  }
  return html_table({"run", "integrator", "steps", "rejected", "right-hand sides", "Jacobians", "contact evaluations",
                     "wall time [s]", "real-time factor", "exchanges", "median [us]", "99 % [us]"},
                    rows);
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
      row.push_back(fmt::format("{} ({:.0f} %)", number_text(part, 3), 100.0 * part / whole));
    }
    row.push_back(number_text(whole, 3));
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
  const auto share = relative_balance_error(energy);
  return share ? fmt::format("{:.2g} %", 100.0 * *share) : "";
}

/// Empty where no run has a balance, e.g. for static analyses.
std::string energy_section(std::span<const RunData> runs) {
  Rows rows;
  bool prescribed = false;
  for (const RunData& run : runs) {
    if (!run.summary) continue;
    const EnergyBalance& e = run.summary->energy;
    if (std::isnan(e.balance_error)) continue;
    prescribed = prescribed || (run.model && run.model->analysis.traits.prescribed);
    rows.push_back({run.label, number_text(e.initial), number_text(e.final), number_text(e.dissipated),
                    number_text(e.external_work), number_text(e.balance_error, 3), share_text(e)});
  }
  if (rows.empty()) return {};
  return section(
      "energy", "Energy balance",
      html_table({"run", "start [J]", "end [J]", "dissipated [J]", "work of loads and drivers [J]", "balance error [J]",
                  "of work and dissipation"},
                 rows) +
          (prescribed ? "<p class=\"note\">For prescribed motion, work is summed from frame to frame: the balance then "
                        "reflects the frame interval, not the accuracy of an integration.</p>"
                      : ""));
}

std::string scenario_texts(std::span<const RunData> runs) {
  std::string text;
  for (const RunData& run : runs) {
    text += fmt::format("<details{}><summary>{}</summary>\n<p class=\"digest\">sha256 {}</p><pre>{}</pre></details>\n",
                        "", escaped(run.label), run.scenario_digest, escaped(run.scenario));
  }
  return text;
}

std::string common_sections(std::span<const RunData> runs, bool with_scatter) {
  const bool with_contact = any_pairs(runs);
  return chart_places(with_scatter, with_contact) +
         (with_contact ? section("contacts", "Contacts", contact_table(runs)) : std::string()) +
         section("cost", "Cost", cost_table(runs) + wall_time_table(runs)) + energy_section(runs) +
         section("scenario", "Scenario as run", scenario_texts(runs));
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
                                            {"area_m2", "peak contact area", "m2"},
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

/// Quantities present in any row: only coupling schemes have exchanges.
std::vector<Quantity> known(const std::vector<Quantity>& quantities, const Json& comparison) {
  std::vector<Quantity> known;
  std::ranges::copy_if(quantities, std::back_inserter(known), [&](const Quantity& q) {
    return std::ranges::any_of(comparison.at("rows"), [&](const Json& row) { return row.contains(q.key); });
  });
  return known;
}

std::optional<double> number_at(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

bool is_sweep(const Json& comparison) {
  const Json& rows = comparison.at("rows");
  return !rows.empty() && rows[0].contains("parameters");
}

std::string comparison_table(const Json& comparison) {
  const bool compared = comparison.at("reference").is_string();
  std::vector<std::string> header = {"run", "status"};
  std::vector<std::string> cost_header = {"run"};
  for (const Quantity& q : known(accuracies(), comparison)) {
    header.push_back(*q.unit ? fmt::format("{} [{}]", q.label, q.unit) : q.label);
    if (compared) header.emplace_back("deviation");
  }
  for (const Quantity& q : known(costs(), comparison))
    cost_header.push_back(*q.unit ? fmt::format("{} [{}]", q.label, q.unit) : q.label);
  Rows rows;
  Rows cost_rows;
  for (const Json& row : comparison.at("rows")) {
    std::vector<std::string> line = {row.at("backend"), row.at("status")};
    std::vector<std::string> cost_line = {row.at("backend")};
    for (const Quantity& q : known(accuracies(), comparison)) {
      line.push_back(text_of(number_at(row, q.key)));
      if (!compared) continue;
      const auto deviation = number_at(row, q.key + std::string(deviation_ending));
      line.push_back(deviation ? fmt::format("{:+.2f} %", 100.0 * *deviation) : "-");
    }
    for (const Quantity& q : known(costs(), comparison)) cost_line.push_back(text_of(number_at(row, q.key)));
    rows.push_back(std::move(line));
    cost_rows.push_back(std::move(cost_line));
  }
  std::string text = html_table(header, rows) + html_table(cost_header, cost_rows);
  text +=
      "<p class=\"note\">Force, indentation, duration, velocity and restitution are those of the first contact; "
      "pressure and area are the peak values of the run.";
  text += compared
              ? fmt::format(" Deviations are from {}.</p>\n", escaped(comparison.at("reference").get<std::string>()))
          : is_sweep(comparison) ? std::string("</p>\n")
                                 : std::string(" No reference; --reference NAME adds deviations.</p>\n");
  for (const Json& row : comparison.at("rows")) {
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

/// {parameters: [key], results: [{key, label, unit}], rows: [{label, parameters: {key: value}, results: {key: value}}]}
Json sweep_json(const Json& comparison) {
  Json json = {{"parameters", Json::array()},
               {"results", quantities_json(known(accuracies(), comparison))},
               {"rows", Json::array()}};
  for (Json& cost : quantities_json(known(costs(), comparison))) json["results"].push_back(std::move(cost));
  for (const auto& [key, value] : comparison.at("rows")[0].at("parameters").items()) json["parameters"].push_back(key);
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

std::string sweep_section() {
  return section("sweep", "Result against parameter",
                 "<div id=\"sweep-chart\"><p class=\"needs-script note\">The chart appears here when scripts are "
                 "allowed.</p></div>\n");
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
  Json shapes;
  const Json scenes = scenes_json(runs, shapes);
  const std::string body = problems(runs) + section("what", "Run parameters", facts_table(runs)) +
                           pressure_section(runs) + (scenes.empty() ? std::string() : scenes_section(runs)) +
                           common_sections(runs, false);
  Json data = {{"runs", Json::array({charts_json(run, budget_for(runs))})}};
  if (!scenes.empty()) data["scenes"] = scenes;
  if (!shapes.empty()) data["shapes"] = std::move(shapes);
  if (!run.prints.empty()) data["prints"] = prints_json(runs);
  return document(title, header, body, data);
}

std::string comparison_page(const Json& comparison, std::span<const RunData> runs) {
  const bool compared = comparison.at("reference").is_string();
  Json shapes;
  const Json scenes = scenes_json(runs, shapes);
  const bool sweep = is_sweep(comparison);
  const std::string title =
      fmt::format("{}: {}", comparison.at("scenario").get<std::string>(), sweep ? "sweep" : "comparison");
  const std::string body =
      (sweep ? sweep_section() : std::string()) +
      section("comparison", sweep ? "Results and cost" : "Accuracy and cost", comparison_table(comparison)) +
      problems(runs) + pressure_section(runs) + (scenes.empty() ? std::string() : scenes_section(runs)) +
      common_sections(runs, compared) + section("what", "Run parameters", facts_table(runs));
  Json data = {{"runs", Json::array()}};
  for (const RunData& run : runs) data["runs"].push_back(charts_json(run, budget_for(runs)));
  if (compared) data["comparison"] = scatter_json(comparison);
  if (sweep) data["sweep"] = sweep_json(comparison);
  if (!scenes.empty()) data["scenes"] = scenes;
  if (!shapes.empty()) data["shapes"] = std::move(shapes);
  if (Json prints = prints_json(runs); !prints.empty()) data["prints"] = std::move(prints);
  return document(title, fmt::format("<span>{} runs</span>", runs.size()), body, data);
}

std::string measurement_page(const GrfPage& page, std::span<const RunData> runs) {
  std::string tables;
  for (const PageTable& table : page.tables) {
    tables += fmt::format("<h3>{}</h3>\n", escaped(table.heading)) + html_table(table.header, table.rows);
    if (!table.note.empty()) tables += fmt::format("<p class=\"note\">{}</p>\n", escaped(table.note));
    tables += table.svg;
  }
  const std::string body =
      section("comparison", "Comparison of the run with the plates", tables) +
      section(
          "charts", "Over time",
          "<p class=\"note no-print\">Drag to zoom, double-click or “Show all” to reset; click a name to hide its "
          "curve.</p>\n<div id=\"time-charts\" class=\"charts\"><p class=\"needs-script note\">Charts appear here when "
          "scripts are allowed.</p></div>\n") +
      section("what", "Compared data",
              fmt::format("<p>Run {}, measurement {}. Forces, free moments and centres of pressure in the axes of the "
                          "measurement.</p>\n",
                          escaped(page.run), escaped(page.measured)));
  Json data = {{"runs", Json::array()}};
  for (const RunData& run : runs) data["runs"].push_back(charts_json(run, budget_for(runs)));
  data["quantities"] = {"force", "cop", "torque"};
  return document(page.run + " and force plates", "", body, data);
}

}  // namespace heelstrike::report
