#include "client/fmi/unit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "client/embedded/catalog.hpp"
#include "client/embedded/embedded.hpp"
#include "common/errors/error.hpp"
#include "common/wire/run_records_wire.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/service/run_input.hpp"

namespace heelstrike::client {
namespace {

/// Of FMI's communication points, which masters add up.
bool same_time(double a, double b) {
  return std::abs(a - b) <= 1e-9 * (1.0 + std::abs(b));
}

void append(std::string& bytes, const void* data, std::size_t size) {
  bytes.append(static_cast<const char*>(data), size);
}

template <typename Number>
Number take(std::string_view& bytes) {
  if (bytes.size() < sizeof(Number)) throw input_error("state", "state: the bytes are those of no unit, or cut off");
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

}  // namespace

Unit::Unit(const std::filesystem::path& resources, std::string_view token) : content_(read_content(resources)) {
  if (token == content_.token) return;
  throw Error(ErrorCode::version_mismatch,
              fmt::format("the description of the unit has the token '{}', its resources have '{}': they belong to "
                          "different units; unpack the unit again",
                          token, content_.token));
}

Unit::~Unit() = default;

const UnitVariable& Unit::variable(std::uint32_t reference) const {
  if (reference < content_.variables.size()) return content_.variables[reference];
  throw input_error("valueReference",
                    fmt::format("valueReference {}: this unit has 0 to {}", reference, content_.variables.size() - 1));
}

void Unit::require(bool allowed, const char* call) const {
  if (allowed) return;
  constexpr const char* names[] = {"instantiated", "in its initialisation", "stepping", "terminated"};
  throw Error(ErrorCode::out_of_order,
              fmt::format("{} is not allowed while the unit is {}", call, names[static_cast<int>(state_)]));
}

void Unit::setup(double start_time, std::optional<double> stop_time) {
  require(state_ == State::instantiated, "the set-up of the experiment");
  if (start_time != 0.0) {
    throw input_error("startTime", fmt::format("startTime: scenarios start at 0 s, found {} s", start_time));
  }
  stop_time_ = stop_time;
}

void Unit::enter_initialization() {
  require(state_ == State::instantiated, "EnterInitializationMode");
  state_ = State::initialization;
}

void Unit::exit_initialization() {
  require(state_ == State::initialization, "ExitInitializationMode");
  open();
  state_ = State::stepping;
}

void Unit::terminate() {
  require(state_ == State::stepping, "Terminate");
  state_ = State::terminated;
}

void Unit::reset() {
  simulation_.reset();
  input_.reset();
  inputs_.clear();
  parameters_.clear();
  stop_time_.reset();
  state_ = State::instantiated;
}

void Unit::open() {
  if (simulation_) return;
  const BackendSchemas schemas = schemas_of(embedded_backends());
  const Catalog catalog = scenario_catalog(schemas);
  std::string yaml = content_.yaml;
  const auto change = [&](const std::string& key, double value) {
    yaml = with_override(yaml, content_.file_name, fmt::format("{}={}", key, value), catalog);
  };
  for (const auto& [reference, value] : parameters_) change(variable(reference).name, value);
  if (stop_time_) change("analysis.end_time", *stop_time_);
  auto input = std::make_unique<mbs::RunInput>(mbs::make_run_input(yaml, content_.file_name, content_.files, schemas));
  input->run_id = "unit";
  auto simulation = std::make_unique<mbs::Simulation>(*input);
  simulation->initialise(fem::local_contact_factory(content_.cache.string()));
  input_ = std::move(input);
  simulation_ = std::move(simulation);
}

void Unit::get(std::span<const std::uint32_t> references, std::span<double> values) {
  require(state_ != State::instantiated || !references.empty(), "Get");
  std::span<const double> row;
  for (std::size_t i = 0; i < references.size(); ++i) {
    const UnitVariable& asked = variable(references[i]);
    switch (asked.causality) {
      case Causality::independent:
        values[i] = time();
        break;
      case Causality::parameter: {
        const auto found = parameters_.find(asked.reference);
        values[i] = found == parameters_.end() ? asked.start : found->second;
        break;
      }
      case Causality::input: {
        const auto found = inputs_.find(asked.reference);
        values[i] = found == inputs_.end() ? asked.start : found->second.at(time());
        break;
      }
      case Causality::output:
        require(state_ != State::instantiated, "Get of an output");
        if (row.empty()) {
          open();
          apply_inputs();
          row = simulation_->output_values();
        }
        // Outputs come behind the inputs, in the order of the columns, of which the first one is time.
        values[i] = row[asked.reference - simulation_->inputs().size()];
        break;
    }
  }
}

void Unit::set(std::span<const std::uint32_t> references, std::span<const double> values) {
  for (std::size_t i = 0; i < references.size(); ++i) {
    const UnitVariable& target = variable(references[i]);
    if (!std::isfinite(values[i])) {
      throw input_error(target.name, fmt::format("{}: expected a finite number, found {}", target.name, values[i]));
    }
    if (target.causality == Causality::parameter) {
      require(state_ == State::instantiated || state_ == State::initialization, "Set of a fixed parameter");
      parameters_[target.reference] = values[i];
      simulation_.reset();  // opened for a value that was asked for
    } else if (target.causality == Causality::input) {
      require(state_ != State::terminated, "Set");
      Input& input = inputs_[target.reference];
      // A master sets inputs at every communication point; only what changes them starts the integrator anew.
      if (input.jet.d == 0.0 && input.jet.dd == 0.0 && input.jet.f == values[i] && !input.is_new) continue;
      input = {.since = time(), .jet = {.f = values[i], .d = 0.0, .dd = 0.0}, .is_new = true};
    } else {
      throw input_error(target.name, fmt::format("{}: it is calculated and cannot be set", target.name));
    }
  }
}

void Unit::set_derivative(std::uint32_t reference, int order, double value) {
  const UnitVariable& target = variable(reference);
  require(state_ == State::initialization || state_ == State::stepping, "Set of a derivative");
  if (target.causality != Causality::input || (order != 1 && order != 2)) {
    throw input_error(target.name,
                      fmt::format("{}: only first and second derivatives of inputs can be set", target.name));
  }
  Input& input = inputs_[reference];
  input = {.since = time(), .jet = {.f = input.at(time()), .d = input.jet.d, .dd = input.jet.dd}, .is_new = true};
  (order == 1 ? input.jet.d : input.jet.dd) = value;
}

void Unit::apply_inputs() {
  for (auto& [reference, input] : inputs_) {
    if (!std::exchange(input.is_new, false)) continue;
    simulation_->set_input(variable(reference).name, input.jet.f, input.jet.d, input.jet.dd);
  }
}

void Unit::do_step(double t, double h) {
  require(state_ == State::stepping, "DoStep");
  if (!same_time(t, time())) {
    throw input_error("currentCommunicationPoint",
                      fmt::format("currentCommunicationPoint: the unit stands at {} s, found {} s", time(), t));
  }
  if (!(h > 0.0))
    throw input_error("communicationStepSize",
                      fmt::format("communicationStepSize: expected a positive time, found {} s", h));
  apply_inputs();
  // The sum of a master's times may end a rounding error behind the end of the scenario.
  const double end = simulation_->end_time();
  (void)simulation_->advance_to(t + h > end && same_time(t + h, end) ? end : t + h);
}

std::string Unit::save() {
  require(state_ == State::initialization || state_ == State::stepping, "GetFMUState");
  open();
  apply_inputs();
  std::string bytes;
  const auto state = static_cast<std::int32_t>(state_);
  const auto n = static_cast<std::uint32_t>(inputs_.size());
  append(bytes, &state, sizeof state);
  append(bytes, &n, sizeof n);
  for (const auto& [reference, input] : inputs_) {
    append(bytes, &reference, sizeof reference);
    for (const double number : {input.since, input.jet.f, input.jet.d, input.jet.dd})
      append(bytes, &number, sizeof number);
  }
  return bytes + wire::checkpoint_bytes(simulation_->save());
}

void Unit::restore(const std::string& saved) {
  require(state_ != State::instantiated, "SetFMUState");
  std::string_view bytes = saved;
  const auto state = take<std::int32_t>(bytes);
  if (state < 0 || state > static_cast<std::int32_t>(State::terminated)) {
    throw input_error("state", "state: the bytes are those of no unit");
  }
  std::map<std::uint32_t, Input> inputs;
  for (auto n = take<std::uint32_t>(bytes); n > 0; --n) {
    const auto reference = take<std::uint32_t>(bytes);
    (void)variable(reference);
    Input& input = inputs[reference];
    input.since = take<double>(bytes);
    input.jet.f = take<double>(bytes);
    input.jet.d = take<double>(bytes);
    input.jet.dd = take<double>(bytes);
  }
  open();
  simulation_->restore(wire::checkpoint_from(bytes, wire::FieldPath("state")));
  inputs_ = std::move(inputs);
  state_ = static_cast<State>(state);
}

}  // namespace heelstrike::client
