#include "mbs_server/simulation/run_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/process/version.hpp"
#include "common/text/markup.hpp"

namespace heelstrike::mbs {
namespace {

using Json = nlohmann::json;
constexpr std::string_view format_version = "heelstrike run state 8";

#if defined(__clang__)
constexpr std::string_view compiler_identity = __VERSION__;
#else
constexpr std::string_view compiler_identity = "GCC " __VERSION__;
#endif

/// Identity on which the bits of a run depend besides its scenario: sums may differ between compilers. The programs
/// are equivalent because they consist of the same libraries.
std::string program_identity() {
  return fmt::format("{} {}", program_version, compiler_identity);
}

/// Printable beginning of external bytes.
std::string escaped_excerpt(std::string_view bytes, std::size_t length = 24) {
  std::string text(bytes.substr(0, length));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

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
          {"approach_velocity", e.approach_velocity},
          {"separation_velocity", optional_to_json(e.separation_velocity)},
          {"effective_restitution", optional_to_json(e.effective_restitution)},
          {"max_impulse", optional_to_json(e.max_impulse)}};
}

ContactEpisode episode_from_json(const Json& j) {
  return {.pair = j.at("pair"),
          .onset = j.at("onset"),
          .end = optional_from_json(j.at("end")),
          .max_force = j.at("max_force"),
          .max_force_time = j.at("max_force_time"),
          .max_indentation = j.at("max_indentation"),
          .max_indentation_time = j.at("max_indentation_time"),
          .approach_velocity = j.at("approach_velocity"),
          .separation_velocity = optional_from_json(j.at("separation_velocity")),
          .effective_restitution = optional_from_json(j.at("effective_restitution")),
          .max_impulse = optional_from_json(j.at("max_impulse"))};
}

Json to_json(const EpisodeTracker::State& state) {
  Json recent = Json::array();
  for (const auto& p : state.recent) recent.push_back({p.t, p.force, p.gap, p.gap_rate});
  return {{"episode", state.episode ? to_json(*state.episode) : Json(nullptr)},
          {"recent", recent},
          {"turns", state.n_reversals}};
}

[[noreturn]] void reject(const std::string& what) {
  throw input_error("checkpoint", fmt::format("checkpoint: {}; resume from another one, or restart the run", what));
}

EpisodeTracker::State tracker_from_json(const Json& j) {
  EpisodeTracker::State state;
  if (!j.at("episode").is_null()) state.episode = episode_from_json(j.at("episode"));
  for (const auto& p : j.at("recent")) {
    state.recent.push_back({.t = p.at(0), .force = p.at(1), .gap = p.at(2), .gap_rate = p.at(3)});
  }
  // More than one reversal is equivalent to many.
  const Json& reversals = j.at("turns");
  if (!reversals.is_number_unsigned())
    reject(fmt::format("expected a number of reversals, found {}", reversals.dump()));
  state.n_reversals = static_cast<int>(std::min<std::uint64_t>(reversals.get<std::uint64_t>(), 1'000'000'000));
  return state;
}

Json to_json(const RunCounts& counts) {
  const IntegratorStatistics& s = counts.integrator;
  return {s.steps, s.rejected_steps, s.rhs_evaluations, s.jacobian_evaluations, s.restarts, counts.rhs, counts.contact};
}

RunCounts counts_from_json(const Json& j) {
  constexpr std::int64_t max_count = std::int64_t{1} << 53;
  for (const Json& n : j) {
    if (!n.is_number_integer() || n.get<std::int64_t>() < 0 || n.get<std::int64_t>() > max_count) {
      reject(fmt::format("expected counts from 0 to 2^53, found {}", n.dump()));
    }
  }
  return {.integrator = {.name = {},
                         .steps = j.at(0),
                         .rejected_steps = j.at(1),
                         .rhs_evaluations = j.at(2),
                         .jacobian_evaluations = j.at(3),
                         .restarts = j.at(4)},
          .rhs = j.at(5),
          .contact = j.at(6)};
}

Json flags_json(const std::vector<char>& flags) {
  Json j = Json::array();
  for (const char flag : flags) j.push_back(flag != 0);
  return j;
}

std::vector<char> flags_from_json(const Json& j) {
  std::vector<char> flags;
  for (const Json& flag : j) flags.push_back(flag.get<bool>() ? 1 : 0);
  return flags;
}

Json to_json(const FieldPosition& fields) {
  return {{"next", fields.next}, {"off", flags_json(fields.excluded)}, {"drawn", flags_json(fields.partner_written)}};
}

FieldPosition fields_from_json(const Json& j) {
  const Json& next = j.at("next");
  if (!next.is_number_unsigned()) reject(fmt::format("expected the number of the next fields, found {}", next.dump()));
  return {.next = next, .excluded = flags_from_json(j.at("off")), .partner_written = flags_from_json(j.at("drawn"))};
}

Json to_json(const RunState& state) {
  Json j = {{"next_row", state.next_row},
            {"n_rows", state.n_rows},
            {"committed_dissipation", state.committed_dissipation},
            {"initial_energy", state.initial_energy},
            {"max_kinetic_energy", state.max_kinetic_energy},
            {"max_position_violation", state.max_position_violation},
            {"max_velocity_violation", state.max_velocity_violation},
            {"closed", flags_json(state.closed)},
            {"episodes", Json::array()},
            {"finished", Json::array()}};
  for (const auto& e : state.episodes) j["episodes"].push_back(to_json(e));
  for (const auto& e : state.finished) j["finished"].push_back(to_json(e));
  // Runs of the program have no inputs, which are then omitted.
  for (const auto& [name, input] : state.inputs) {
    j["inputs"][name] = {input.since, input.jet.f, input.jet.d, input.jet.dd};
  }
  for (const auto& [name, unit] : state.units) {
    j["units"][name] = {unit.next,        unit.inputs, unit.outputs, unit.before, encode_base64(unit.bytes),
                        unit.bytes.size()};
  }
  if (!state.coupling.empty()) {
    j["coupling"] = encode_base64(state.coupling);
    j["macro_end"] = state.macro_end;
  }
  j["counts"] = to_json(state.counts);
  if (!state.joints_closed.empty()) j["joints_closed"] = flags_json(state.joints_closed);
  if (!state.turn_references.empty()) j["turn_references"] = state.turn_references;
  if (!state.fields.excluded.empty()) j["fields"] = to_json(state.fields);
  if (!state.analysis.empty()) j["analysis"] = state.analysis;
  return j;
}

RunState state_from_json(const Json& j) {
  // A number with a decimal point would be converted.
  for (const char* key : {"next_row", "n_rows"}) {
    if (!j.at(key).is_number_integer())
      reject(fmt::format("expected an integer as {}, found {}", key, j.at(key).dump()));
  }
  RunState state{.next_row = j.at("next_row"),
                 .n_rows = j.at("n_rows"),
                 .committed_dissipation = j.at("committed_dissipation"),
                 .initial_energy = j.at("initial_energy"),
                 .max_kinetic_energy = j.at("max_kinetic_energy"),
                 .max_position_violation = j.at("max_position_violation"),
                 .max_velocity_violation = j.at("max_velocity_violation"),
                 .closed = {},
                 .episodes = {},
                 .finished = {}};
  state.closed = flags_from_json(j.at("closed"));
  for (const auto& e : j.at("episodes")) state.episodes.push_back(tracker_from_json(e));
  for (const auto& e : j.at("finished")) state.finished.push_back(episode_from_json(e));
  if (j.contains("inputs")) {
    for (const auto& [name, v] : j.at("inputs").items()) {
      state.inputs[name] = {.since = v.at(0), .jet = {.f = v.at(1), .d = v.at(2), .dd = v.at(3)}};
    }
  }
  if (j.contains("units")) {
    for (const auto& [name, v] : j.at("units").items()) {
      state.units[name] = {.next = v.at(0),
                           .inputs = v.at(1),
                           .outputs = v.at(2),
                           .before = v.at(3),
                           .bytes = decode_base64(v.at(4).get<std::string>(), v.at(5).get<std::size_t>())};
    }
  }
  if (j.contains("coupling")) {
    const auto text = j.at("coupling").get<std::string>();
    state.coupling = decode_base64(text, text.size());
    state.macro_end = j.at("macro_end");
  }
  state.counts = counts_from_json(j.at("counts"));
  if (j.contains("joints_closed")) state.joints_closed = flags_from_json(j.at("joints_closed"));
  if (j.contains("turn_references")) state.turn_references = j.at("turn_references").get<std::vector<double>>();
  if (j.contains("fields")) state.fields = fields_from_json(j.at("fields"));
  state.analysis = j.value("analysis", std::string());
  return state;
}

std::string bytes_of(std::span<const double> values) {
  std::string bytes(values.size_bytes(), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Checksum of the whole checkpoint except the checksum itself. Lengths separate adjacent parts.
std::string checksum(const Checkpoint& checkpoint, std::string_view state) {
  std::string all = fmt::format("{} {} {}\n", checkpoint.scenario_digest, checkpoint.step, checkpoint.state.size());
  all += bytes_of({&checkpoint.time, 1}) + bytes_of(checkpoint.state);
  for (const auto& contact : checkpoint.contact_states) all += fmt::format("{}\n", contact.size()) + contact;
  return sha256_hex(all.append(state));
}

void expect(bool condition, std::string_view expected, const std::string& found) {
  if (!condition) reject(fmt::format("expected {}, found {}", expected, found));
}

void check_episode(const ContactEpisode& e, const std::string& pair, double start, double t) {
  expect(e.pair == pair, fmt::format("an episode of pair '{}'", pair), fmt::format("'{}'", e.pair));
  expect(e.onset >= start && e.onset <= t, fmt::format("an onset between {} and {} s", start, t),
         fmt::format("{} s", e.onset));
}

void check(const RunState& state, double t, const CheckpointFrame& frame) {
  const std::int64_t next = first_after(frame.interval, t);
  // A row at `t` may yet have to be written.
  expect(state.next_row == next || state.next_row == next - 1, fmt::format("{} as the next row", next),
         fmt::to_string(state.next_row));
  expect(state.n_rows >= 0, "a number of rows", fmt::to_string(state.n_rows));
  expect(state.max_kinetic_energy >= 0.0, "a kinetic energy that is not negative",
         fmt::to_string(state.max_kinetic_energy));
  expect(state.max_position_violation >= 0.0 && state.max_velocity_violation >= 0.0, "violations that are not negative",
         fmt::format("{} and {}", state.max_position_violation, state.max_velocity_violation));
  expect(state.closed.size() == frame.pairs.size() && state.episodes.size() == frame.pairs.size(),
         fmt::format("{} contact pairs", frame.pairs.size()),
         fmt::format("{} and {}", state.closed.size(), state.episodes.size()));
  for (std::size_t i = 0; i < frame.pairs.size(); ++i) {
    const auto& episode = state.episodes[i];
    expect(episode.episode.has_value() == (state.closed[i] != 0), "an open episode for each pair in contact",
           fmt::format("another for '{}'", frame.pairs[i]));
    expect(episode.recent.size() <= 3, "at most 3 recent points", fmt::to_string(episode.recent.size()));
    if (episode.episode) check_episode(*episode.episode, frame.pairs[i], frame.start_time, t);
  }
  expect(state.joints_closed.size() == frame.n_unilateral, fmt::format("{} unilateral joints", frame.n_unilateral),
         fmt::to_string(state.joints_closed.size()));
  expect(state.turn_references.size() == frame.n_references,
         fmt::format("the full turns of {} coordinates", frame.n_references),
         fmt::format("those of {}", state.turn_references.size()));
  const std::size_t n_field_pairs = state.fields.excluded.size();
  expect((n_field_pairs == 0 || n_field_pairs == frame.pairs.size()) &&
             state.fields.partner_written.size() == n_field_pairs,
         "the fields of all pairs", fmt::format("those of {}", n_field_pairs));
  for (const auto& e : state.finished) {
    const auto pair = std::ranges::find(frame.pairs, e.pair);
    expect(pair != frame.pairs.end(), "episodes of the pairs of this scenario", fmt::format("'{}'", e.pair));
    check_episode(e, *pair, frame.start_time, t);
  }
}

}  // namespace

std::int64_t first_after(double interval, double t) {
  auto n = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(t / interval)));
  // The quotient is accurate to one rounding, so this ends after one or two iterations.
  // Row times are products, not sums, so that a resumed run has the same rows.
  while (interval * static_cast<double>(n) <= t) ++n;
  return n;
}

void write_run_state(Checkpoint& checkpoint, const RunState& state, std::string_view program) {
  const std::string content = fmt::format("{}\n{}", program, to_json(state).dump());
  checkpoint.engine = fmt::format("{} {}\n{}", format_version, checksum(checkpoint, content), content);
}

void write_run_state(Checkpoint& checkpoint, const RunState& state) {
  write_run_state(checkpoint, state, program_identity());
}

RunState read_run_state(const Checkpoint& checkpoint, const CheckpointFrame& frame) {
  const std::string_view engine = checkpoint.engine;
  if (!engine.starts_with(format_version)) {
    reject(fmt::format(
        "expected one of format '{}', found '{}'; it was written by another version of the program, which can "
        "resume it",
        format_version, escaped_excerpt(engine)));
  }
  constexpr std::size_t n_digits = 64;
  const std::size_t begin = format_version.size() + 1;
  const std::size_t content = begin + n_digits + 1;
  if (engine.size() < content || engine.substr(begin, n_digits) != checksum(checkpoint, engine.substr(content))) {
    reject("its checksum does not match: it is damaged");
  }
  const std::size_t text = std::min(engine.find('\n', content), engine.size() - 1) + 1;
  const std::string_view program = engine.substr(content, text - 1 - content);
  if (program != program_identity()) {
    reject(
        fmt::format("it was written by heelstrike {}, and this is {}: only the same program gives "
                    "the same bits",
                    escaped_excerpt(program, 80), program_identity()));
  }
  expect(checkpoint.time >= frame.start_time && checkpoint.time <= frame.end_time,
         fmt::format("a time between {} and {} s", frame.start_time, frame.end_time),
         fmt::format("{} s", checkpoint.time));
  constexpr std::int64_t max_steps = std::int64_t{1} << 53;
  expect(checkpoint.step >= 0 && checkpoint.step < max_steps, "a step number from 0 to 2^53",
         fmt::to_string(checkpoint.step));
  expect(std::ranges::all_of(checkpoint.state, [](double x) { return std::isfinite(x); }), "finite state entries",
         "NaN or infinity");
  try {
    RunState state = state_from_json(Json::parse(engine.substr(text)));
    check(state, checkpoint.time, frame);
    return state;
  } catch (const Json::exception& e) {
    reject(fmt::format("the accumulated statistics cannot be read: {}", e.what()));
  }
}

}  // namespace heelstrike::mbs
