#include "client/subcommands/calibrate_registration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/embedded/embedded.hpp"
#include "client/runs/quantity.hpp"
#include "client/runs/registration.hpp"
#include "client/terminal/table.hpp"

namespace heelstrike::client {
namespace {

nlohmann::ordered_json to_json(const FootRegistrationResult& r, const RegistrationTask& task) {
  nlohmann::ordered_json json = {{"foot", r.foot},
                                 {"frames", r.n_frames},
                                 {"rms_before_m", r.rms_before},
                                 {"rms_m", r.rms},
                                 {"registration", registration_text(r.found)}};
  for (const Stance& s : r.stances) json["stances_s"].push_back({s.start, s.end});
  for (std::size_t p = 0; p < task.free.size(); ++p) {
    json["free"].push_back(
        {{"name", task.free[p]},
         {"standard_deviation", r.deviation[p]},
         {"center_of_pressure_m_per_unit", {r.center_by[p].x(), r.center_by[p].y(), r.center_by[p].z()}},
         {"peak_pressure_Pa_per_unit", r.peak_pressure_by[p]}});
  }
  return json;
}

void print(const FootRegistrationResult& r, const RegistrationTask& task) {
  std::string stances;
  for (const Stance& s : r.stances)
    stances += fmt::format("{}{:.3f}-{:.3f} s", stances.empty() ? "" : ", ", s.start, s.end);
  fmt::print(
      "{}: {} frames of the incomplete stances {}; centre of pressure "
      "off by {:.1f} mm rms, before {:.1f} mm\n",
      r.foot, r.n_frames, stances, 1e3 * r.rms, 1e3 * r.rms_before);
  Table table;
  table.header = {"free", "unit", "before", "found", "std. dev.", "per unit: CoP x mm", "y mm", "z mm", "peak kPa"};
  for (std::size_t p = 0; p < task.free.size(); ++p) {
    const auto parameters = registration_parameters();
    const bool angle = std::ranges::find(parameters, task.free[p], &RegistrationParameter::name)->unit == "rad";
    // One degree or one millimetre is what a reader can picture.
    const double unit = angle ? 0.017453292519943295 : 1e-3;
    table.rows.push_back(
        {task.free[p], angle ? "deg" : "mm", number_text(registration_value(r.before, task.free[p]) / unit, 4),
         number_text(registration_value(r.found, task.free[p]) / unit, 4), number_text(r.deviation[p] / unit, 3),
         number_text(1e3 * unit * r.center_by[p].x(), 3), number_text(1e3 * unit * r.center_by[p].y(), 3),
         number_text(1e3 * unit * r.center_by[p].z(), 3), number_text(1e-3 * unit * r.peak_pressure_by[p], 3)});
  }
  fmt::print("{}\n        registration: {}\n\n", table.aligned(), registration_text(r.found));
}

}  // namespace

ExitCode calibrate_registration(const RegistrationOptions& options, bool as_json, const std::stop_token& stop) {
  RegistrationTask task;
  task.request = load_request(options.scenario, options.overrides, schemas_of(embedded_backends()));
  task.free = split(options.free, ',');
  const auto runner = make_embedded_runner();
  const auto results = fit_registration(task, *runner, stop, [](int runs, std::span<const double> rms) {
    std::string text;
    for (const double value : rms) text += fmt::format(" {:.2f}", 1e3 * value);
    fmt::print(stderr, "run {}: centre of pressure off by{} mm rms\n", runs, text);
  });
  if (as_json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const auto& result : results) json.push_back(to_json(result, task));
    fmt::print("{}\n", json.dump(2));
  } else {
    for (const auto& result : results) print(result, task);
  }
  return ExitCode::ok;
}

}  // namespace heelstrike::client
