#include "common/results/summary.hpp"

#include <fmt/format.h>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/files/file_digests.hpp"

namespace heelstrike {

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Unknown counts are negative in a RunSummary and null in its file.
Json count_json(std::int64_t n) {
  return n < 0 ? Json(nullptr) : Json(n);
}

Json episode_json(const ContactEpisode& e) {
  return {{"pair", e.pair},
          {"onset_s", e.onset},
          {"end_s", or_null(e.end)},
          {"max_force_N", e.max_force},
          {"max_force_time_s", e.max_force_time},
          {"max_indentation_m", e.max_indentation},
          {"max_indentation_time_s", e.max_indentation_time},
          {"approach_velocity_m_s", e.approach_velocity},
          {"separation_velocity_m_s", or_null(e.separation_velocity)},
          {"effective_restitution", or_null(e.effective_restitution)},
          {"max_impulse_N_s", or_null(e.max_impulse)}};
}

Json integrator_json(const IntegratorStatistics& s) {
  return {{"name", s.name},
          {"steps", count_json(s.steps)},
          {"rejected_steps", count_json(s.rejected_steps)},
          {"rhs_evaluations", count_json(s.rhs_evaluations)},
          {"jacobian_evaluations", count_json(s.jacobian_evaluations)},
          {"restarts", count_json(s.restarts)}};
}

Json rpc_json(const std::optional<RpcStatistics>& rpc) {
  if (!rpc) return nullptr;
  return {{"calls", rpc->calls},
          {"p50_us", rpc->p50_us},
          {"p99_us", rpc->p99_us},
          {"round_trip_time_s", rpc->round_trip_time},
          {"server_time_s", rpc->server_time}};
}

Json coupling_json(const std::optional<CouplingStatistics>& s) {
  if (!s) return nullptr;
  return {{"scheme", s->scheme},
          {"exchanges", s->exchanges},
          {"rejected_macro_steps", s->rejected_macro_steps},
          {"iterations", s->iterations}};
}

Json wall_times_json(const WallTimeSplit& w) {
  return {
      {"preparation_s", w.preparation}, {"contact_s", w.contact}, {"transport_s", w.transport}, {"fields_s", w.fields}};
}

Json energy_json(const EnergyBalance& e) {
  const auto share = relative_balance_error(e);
  return {{"initial_J", e.initial},
          {"final_J", e.final},
          {"dissipated_J", e.dissipated},
          {"external_work_J", e.external_work},
          {"max_kinetic_J", e.max_kinetic},
          {"balance_error_J", e.balance_error},
          {"relative_balance_error", share ? Json(*share) : Json()}};
}

Json error_json(const std::optional<Error>& error) {
  if (!error) return nullptr;
  return {{"code", to_string(error->code())},
          {"message", error->what()},
          {"field", error->field()},
          {"retryable", error->retryable()}};
}

ErrorCode code_from(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
    if (to_string(static_cast<ErrorCode>(i)) == name) return static_cast<ErrorCode>(i);
  }
  throw std::invalid_argument(fmt::format("error.code: expected a known code, found '{}'", name));
}

template <typename T>
std::optional<T> optional_at(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

/// JSON has no NaN: unknown values, e.g. the energy of a pose that no back-end can evaluate, are null in the file.
double number_at(const Json& json, const char* key) {
  return optional_at<double>(json, key).value_or(std::numeric_limits<double>::quiet_NaN());
}

std::int64_t count_at(const Json& json, const char* key) {
  return optional_at<std::int64_t>(json, key).value_or(-1);
}

ContactEpisode episode_from(const Json& json) {
  return {
      .pair = json.at("pair"),
      .onset = json.at("onset_s"),
      .end = optional_at<double>(json, "end_s"),
      .max_force = number_at(json, "max_force_N"),
      .max_force_time = number_at(json, "max_force_time_s"),
      .max_indentation = number_at(json, "max_indentation_m"),
      .max_indentation_time = number_at(json, "max_indentation_time_s"),
      .approach_velocity = number_at(json, "approach_velocity_m_s"),
      .separation_velocity = optional_at<double>(json, "separation_velocity_m_s"),
      .effective_restitution = optional_at<double>(json, "effective_restitution"),
      // Absent in folders of version 0.1.0.
      .max_impulse = json.contains("max_impulse_N_s") ? optional_at<double>(json, "max_impulse_N_s") : std::nullopt};
}

void read_timing(const Json& json, RunSummary& s) {
  s.wall_time = json.at("wall_time_s");
  if (const Json& rpc = json.at("rpc"); !rpc.is_null()) {
    s.rpc = {.calls = rpc.at("calls"),
             .p50_us = rpc.at("p50_us"),
             .p99_us = rpc.at("p99_us"),
             .round_trip_time = rpc.value("round_trip_time_s", 0.0),
             .server_time = rpc.value("server_time_s", 0.0)};
  }
  // May be absent in folders of version 0.1.0.
  if (const auto times = json.find("wall_times"); times != json.end()) {
    s.wall_times = {.preparation = number_at(*times, "preparation_s"),
                    .contact = number_at(*times, "contact_s"),
                    .transport = number_at(*times, "transport_s"),
                    .fields = number_at(*times, "fields_s")};
  }
}

RunSummary summary_from(const Json& json) {
  RunSummary s;
  s.scenario = json.at("scenario");
  s.backend = json.at("backend");
  s.status = json.at("status");
  s.simulated_time = json.at("simulated_time_s");
  const Json& integrator = json.at("integrator");
  s.integrator = {.name = integrator.at("name"),
                  .steps = count_at(integrator, "steps"),
                  .rejected_steps = count_at(integrator, "rejected_steps"),
                  .rhs_evaluations = count_at(integrator, "rhs_evaluations"),
                  .jacobian_evaluations = count_at(integrator, "jacobian_evaluations"),
                  .restarts = count_at(integrator, "restarts")};
  s.contact_evaluations = count_at(json.at("contact"), "evaluations");
  s.contact_commits = count_at(json.at("contact"), "commits");
  // Absent in folders of version 0.1.0.
  if (const auto coupling = json.find("coupling"); coupling != json.end() && !coupling->is_null()) {
    s.coupling = {.scheme = coupling->at("scheme"),
                  .exchanges = coupling->at("exchanges"),
                  .rejected_macro_steps = coupling->at("rejected_macro_steps"),
                  .iterations = coupling->at("iterations")};
  }
  const Json& energy = json.at("energy");
  s.energy = {.initial = number_at(energy, "initial_J"),
              .final = number_at(energy, "final_J"),
              .dissipated = number_at(energy, "dissipated_J"),
              .external_work = number_at(energy, "external_work_J"),
              .balance_error = number_at(energy, "balance_error_J"),
              .max_kinetic = number_at(energy, "max_kinetic_J")};
  for (const Json& episode : json.at("contacts")) s.contacts.push_back(episode_from(episode));
  s.max_position_violation = number_at(json.at("constraints"), "max_position_violation");
  s.max_velocity_violation = number_at(json.at("constraints"), "max_velocity_violation_1_s");
  if (const Json& error = json.at("error"); !error.is_null()) {
    s.error.emplace(code_from(error.at("code")), error.at("message"), error.at("field"), error.at("retryable"));
  }
  // Folders of version 0.1.0 have everything in one file.
  if (json.contains("wall_time_s")) read_timing(json, s);
  return s;
}

Json outcome(const RunSummary& s) {
  Json contacts = Json::array();
  for (const auto& episode : s.contacts) contacts.push_back(episode_json(episode));
  return {{"scenario", s.scenario},
          {"backend", s.backend},
          {"status", s.status},
          {"simulated_time_s", s.simulated_time},
          {"integrator", integrator_json(s.integrator)},
          {"contact", {{"evaluations", count_json(s.contact_evaluations)}, {"commits", count_json(s.contact_commits)}}},
          {"coupling", coupling_json(s.coupling)},
          {"energy", energy_json(s.energy)},
          {"constraints",
           {{"max_position_violation", s.max_position_violation},
            {"max_velocity_violation_1_s", s.max_velocity_violation}}},
          {"contacts", contacts},
          {"error", error_json(s.error)}};
}

Json timing(const RunSummary& s) {
  return {{"wall_time_s", s.wall_time},
          {"real_time_factor", s.wall_time > 0.0 ? Json(s.simulated_time / s.wall_time) : Json(nullptr)},
          {"wall_times", wall_times_json(s.wall_times)},
          {"rpc", rpc_json(s.rpc)}};
}

std::string text_of(const Json& json) {
  // Names and messages may come from a file in another encoding; the replacement character preserves the summary.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string summary_json(const RunSummary& s, const FileDigests& files) {
  Json json = outcome(s);
  if (!files.empty()) json["files"] = files;
  return json_with_digest(std::move(json));
}

std::string timing_json(const RunSummary& s) {
  return json_with_digest(timing(s));
}

std::string summary_and_timing_json(const RunSummary& s) {
  Json json = outcome(s);
  json.update(timing(s));
  return text_of(json);
}

RunSummary parse_summary(std::string_view json, const std::string& file_name) {
  try {
    return summary_from(Json::parse(json));
  } catch (const std::exception& e) {
    throw file_error(file_name,
                     fmt::format("{}: expected the summary of a run, found: {}; run it again", file_name, e.what()));
  }
}

void parse_timing(std::string_view json, const std::string& file_name, RunSummary& summary) {
  try {
    read_timing(Json::parse(json), summary);
  } catch (const std::exception& e) {
    throw file_error(file_name, fmt::format("{}: expected the wall times of a run, found: {}; remove the file, or run "
                                            "it again",
                                            file_name, e.what()));
  }
}

}  // namespace heelstrike
