#include "mbs_server/analysis/run_state.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

using Json = nlohmann::json;
constexpr int format_version = 1;

Json optional_to_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}
std::optional<double> optional_from_json(const Json& j) {
  return j.is_null() ? std::nullopt : std::optional<double>(j.get<double>());
}

Json to_json(const ContactEpisode& e) {
  return {{"pair", e.pair},
          {"onset", e.onset},
          {"end", optional_to_json(e.end)},
          {"max_force", e.max_force},
          {"max_force_time", e.max_force_time},
          {"max_indentation", e.max_indentation},
          {"max_indentation_time", e.max_indentation_time},
          {"approach_speed", e.approach_speed},
          {"separation_speed", optional_to_json(e.separation_speed)},
          {"effective_restitution", optional_to_json(e.effective_restitution)}};
}

ContactEpisode episode_from_json(const Json& j) {
  return {.pair = j.at("pair"),
          .onset = j.at("onset"),
          .end = optional_from_json(j.at("end")),
          .max_force = j.at("max_force"),
          .max_force_time = j.at("max_force_time"),
          .max_indentation = j.at("max_indentation"),
          .max_indentation_time = j.at("max_indentation_time"),
          .approach_speed = j.at("approach_speed"),
          .separation_speed = optional_from_json(j.at("separation_speed")),
          .effective_restitution = optional_from_json(j.at("effective_restitution"))};
}

Json to_json(const EpisodeTracker::State& state) {
  Json recent = Json::array();
  for (const auto& p : state.recent) recent.push_back({p.t, p.force, p.gap, p.gap_rate});
  return {{"episode", state.episode ? to_json(*state.episode) : Json(nullptr)}, {"recent", recent}};
}

EpisodeTracker::State tracker_from_json(const Json& j) {
  EpisodeTracker::State state;
  if (!j.at("episode").is_null()) state.episode = episode_from_json(j.at("episode"));
  for (const auto& p : j.at("recent")) {
    state.recent.push_back({.t = p.at(0), .force = p.at(1), .gap = p.at(2), .gap_rate = p.at(3)});
  }
  return state;
}

}  // namespace

std::string save_run_state(const RunState& state) {
  Json j = {{"format", format_version},
            {"next_row", state.next_row},
            {"next_checkpoint", state.next_checkpoint},
            {"committed_dissipation", state.committed_dissipation},
            {"initial_energy", state.initial_energy},
            {"max_position_violation", state.max_position_violation},
            {"max_velocity_violation", state.max_velocity_violation},
            {"closed", Json::array()},
            {"episodes", Json::array()},
            {"finished", Json::array()}};
  for (const char c : state.closed) j["closed"].push_back(c != 0);
  for (const auto& e : state.episodes) j["episodes"].push_back(to_json(e));
  for (const auto& e : state.finished) j["finished"].push_back(to_json(e));
  return j.dump();
}

RunState load_run_state(const std::string& bytes) {
  try {
    const Json j = Json::parse(bytes);
    if (j.at("format") != format_version) {
      throw input_error("checkpoint",
                        fmt::format("checkpoint: expected format {}, found {}", format_version, j.at("format").dump()));
    }
    RunState state{.next_row = j.at("next_row"),
                   .next_checkpoint = j.at("next_checkpoint"),
                   .committed_dissipation = j.at("committed_dissipation"),
                   .initial_energy = j.at("initial_energy"),
                   .max_position_violation = j.at("max_position_violation"),
                   .max_velocity_violation = j.at("max_velocity_violation"),
                   .closed = {},
                   .episodes = {},
                   .finished = {}};
    for (const auto& c : j.at("closed")) state.closed.push_back(c.get<bool>() ? 1 : 0);
    for (const auto& e : j.at("episodes")) state.episodes.push_back(tracker_from_json(e));
    for (const auto& e : j.at("finished")) state.finished.push_back(episode_from_json(e));
    return state;
  } catch (const Json::exception& e) {
    throw input_error("checkpoint", fmt::format("checkpoint: the accumulated statistics cannot be read: {}", e.what()));
  }
}

}  // namespace heelstrike::mbs
