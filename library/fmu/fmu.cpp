#include "library/fmu/fmu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "library/fmu/scenario_numbers.hpp"
#include "library/registries/catalog.hpp"
#include "mbs_server/service/run_input.hpp"
#include "rpc/address.hpp"
#include "rpc/remote_library.hpp"

namespace heelstrike::fmu {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Communication points that masters accumulate differ by rounding.
bool same_time(double a, double b) {
  return std::abs(a - b) <= 1e-9 * (1.0 + std::abs(b));
}

void append(std::string& bytes, const void* data, std::size_t size) {
  bytes.append(static_cast<const char*>(data), size);
}

template <typename Number>
Number take(std::string_view& bytes) {
  if (bytes.size() < sizeof(Number))
    throw input_error("state", "state: the bytes are not a state of an FMU, or are truncated");
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

}  // namespace

Fmu::Fmu(const std::filesystem::path& resources, std::string_view token, bool model_exchange)
    : content_(read_content(std::filesystem::absolute(resources))) {
  if (content_.model_exchange != model_exchange) {
    throw Error(ErrorCode::unimplemented,
                model_exchange ? "this FMU is for co-simulation and contains its integrator; heelstrike fmu "
                                 "--model-exchange makes one without"
                               : "this FMU is for model exchange: the importer integrates; heelstrike "
                                 "fmu without --model-exchange makes one for co-simulation");
  }
  const auto first = [&](auto... causalities) {
    const auto found = std::ranges::find_if(
        content_.variables, [&](const FmuVariable& v) { return ((v.causality == causalities) || ...); });
    return static_cast<std::uint32_t>(found - content_.variables.begin());
  };
  first_input_ = first(Causality::input);
  first_output_ = first(Causality::output, Causality::local);
  if (token == content_.token) return;
  throw Error(ErrorCode::version_mismatch,
              fmt::format("the description of the FMU has the token '{}', its resources have '{}': they belong to "
                          "different FMUs; unpack the FMU again",
                          token, content_.token));
}

Fmu::~Fmu() = default;

const FmuVariable& Fmu::variable(std::uint32_t reference) const {
  if (reference < content_.variables.size()) return content_.variables[reference];
  throw input_error("valueReference", fmt::format("valueReference {}: this FMU has numbers from 0 to {}", reference,
                                                  content_.variables.size() - 1));
}

void Fmu::require(bool allowed, const char* call) const {
  if (allowed) return;
  constexpr const char* names[] = {"instantiated",
                                   "in its initialisation",
                                   "stepping",
                                   "in its event mode",
                                   "terminated",
                                   "in an intermediate update",
                                   "in its continuous-time mode"};
  throw Error(ErrorCode::out_of_order,
              fmt::format("{} is not allowed while the FMU is {}", call, names[static_cast<int>(state_)]));
}

void Fmu::require_known(std::span<const std::uint32_t> references) const {
  for (const std::uint32_t reference : references) (void)variable(reference);
}

void Fmu::setup(double start_time, std::optional<double> stop_time) {
  require(state_ == State::instantiated, "the set-up of the experiment");
  // Doubles of this size differ by 1.2e-10 s. Onsets of contact are located to about a hundred such differences.
  constexpr double max_start_time = 1e6;
  if (!(std::abs(start_time) <= max_start_time)) {
    throw input_error("startTime", fmt::format("startTime: expected a time from -{0:g} to {0:g} s, found {1:.10g} s: "
                                               "beyond, the resolution of numbers is coarser than the contact "
                                               "requires; start at 0 and add the offset outside of the FMU",
                                               max_start_time, start_time));
  }
  if (stop_time && !(*stop_time > start_time && std::isfinite(*stop_time))) {
    throw input_error("stopTime", fmt::format("stopTime: expected a time after the start at {} s, found {} s",
                                              start_time, *stop_time));
  }
  start_time_ = start_time;
  stop_time_ = stop_time;
}

void Fmu::enter_initialization() {
  require(state_ == State::instantiated, "EnterInitializationMode");
  state_ = State::initialization;
}

void Fmu::exit_initialization(bool event_mode) {
  require(state_ == State::initialization, "ExitInitializationMode");
  open();
  if (content_.model_exchange) equation("ExitInitializationMode").accept();
  state_ = event_mode || content_.model_exchange ? State::event : State::stepping;
}

void Fmu::enter_event_mode() {
  require(is_any_of(State::stepping, State::continuous), "EnterEventMode");
  is_discontinuous_ = false;
  state_ = State::event;
}

bool Fmu::update_discrete_states() {
  require(state_ == State::event, "UpdateDiscreteStates");
  if (!content_.model_exchange) return false;
  const bool switched = equation("UpdateDiscreteStates").switch_pairs();
  return std::exchange(is_discontinuous_, false) || switched;
}

void Fmu::enter_continuous_time_mode() {
  require(state_ == State::event && content_.model_exchange, "EnterContinuousTimeMode");
  state_ = State::continuous;
}

Equation& Fmu::equation(const char* call) {
  if (!content_.model_exchange) {
    throw Error(ErrorCode::out_of_order,
                fmt::format("{} is a function of model exchange, and the FMU is for co-simulation", call));
  }
  open();
  apply_inputs();
  return *model_->equation();
}

void Fmu::set_time(double t) {
  require(is_any_of(State::event, State::continuous), "SetTime");
  equation("SetTime").set_time(t);
}

void Fmu::set_continuous_states(std::span<const double> x) {
  require(state_ == State::continuous, "SetContinuousStates");
  equation("SetContinuousStates").set_state(x);
}

namespace {

void copy(std::span<const double> from, std::span<double> to) {
  if (from.size() != to.size()) {
    throw input_error("n", fmt::format("expected an array of {} numbers, found one of {}", from.size(), to.size()));
  }
  std::ranges::copy(from, to.begin());
}

}  // namespace

void Fmu::get_continuous_states(std::span<double> x) {
  require(state_ != State::instantiated, "GetContinuousStates");
  copy(equation("GetContinuousStates").state(), x);
}

void Fmu::get_rates(std::span<double> rates) {
  require(state_ != State::instantiated, "GetContinuousStateDerivatives");
  copy(equation("GetContinuousStateDerivatives").rates(), rates);
}

void Fmu::get_indicators(std::span<double> values) {
  require(state_ != State::instantiated, "GetEventIndicators");
  copy(equation("GetEventIndicators").indicators(), values);
}

std::size_t Fmu::n_continuous_states() {
  return equation("GetNumberOfContinuousStates").state().size();
}

std::size_t Fmu::n_indicators() {
  return equation("GetNumberOfEventIndicators").indicators().size();
}

bool Fmu::complete_step() {
  require(state_ == State::continuous, "CompletedIntegratorStep");
  Equation& model = equation("CompletedIntegratorStep");
  model.accept();
  return model.has_pending_switches();
}

void Fmu::enter_step_mode() {
  require(state_ == State::event && !content_.model_exchange, "EnterStepMode");
  state_ = State::stepping;
}

void Fmu::terminate() {
  require(is_any_of(State::stepping, State::event, State::continuous), "Terminate");
  state_ = State::terminated;
}

void Fmu::reset() {
  require(state_ != State::update, "Reset");
  model_.reset();
  inputs_.clear();
  parameters_.clear();
  pending_tunable_.clear();
  server_.clear();
  start_time_ = 0.0;
  stop_time_.reset();
  state_ = State::instantiated;
}

void Fmu::open() {
  if (model_) return;
  const BackendSchemas schemas = schemas_of(embedded_backends());
  const Catalog catalog = scenario_catalog(schemas);
  std::string yaml = content_.yaml;
  const auto change = [&](const std::string& assignment) {
    yaml = with_override(yaml, content_.file_name, assignment, catalog);
  };
  const auto write_tunable = [&](bool tunable) {
    std::map<std::uint32_t, double> values;
    for (const auto& [reference, value] : parameters_) {
      if (variable(reference).tunable == tunable) values.emplace(reference, value);
    }
    for (const std::string& assignment : assignments(content_.variables, values)) change(assignment);
  };
  write_tunable(false);
  // The end time in the file assumes a start at zero.
  if (stop_time_) change(fmt::format("analysis.end_time={}", *stop_time_ - start_time_));
  // A state fits every instance with the same fixed parameters.
  const std::string start = start_time_ == 0.0 ? std::string() : fmt::format("\nstart {}", start_time_);
  const std::string digest = sha256_hex(content_.token + yaml + start);
  write_tunable(true);
  mbs::RunInput input = mbs::make_run_input(yaml, content_.file_name, content_.files, schemas);
  input.run_id = "unit";
  input.allow_fmus = true;  // FMUs inside this FMU, whose machine code the importer has loaded
  input.scenario_digest = digest;
  input.start_time = start_time_;
  input.scenario.analysis.end_time = stop_time_.value_or(start_time_ + input.scenario.analysis.end_time);
  const ContactFactory source = contact_source();
  auto model = !content_.pair.empty()    ? open_contact(input, content_.pair, source)
               : content_.model_exchange ? open_equation(std::move(input), source)
                                         : open_simulation(std::move(input), source);
  require_columns(model->names());
  model_ = std::move(model);
}

ContactFactory Fmu::contact_source() const {
  if (!server_.empty()) return rpc::remote_library().contact(server_);
  // Accepts states with other values of tunable parameters; the digest of the scenario guarantees equal fixed ones.
  return fem::local_contact_factory(content_.cache.string(), fem::StateOrigin::tuned_parameters);
}

void Fmu::require_columns(const std::vector<std::string>& names) const {
  const auto is_column = [](const FmuVariable& v) {
    return v.causality != Causality::independent && v.causality != Causality::parameter;
  };
  std::vector<std::string> table;
  for (const FmuVariable& v : content_.variables) {
    if (is_column(v)) table.push_back(v.name);
  }
  // Inputs and outputs are located by counting from the first one of each.
  const bool in_a_row =
      table.size() < content_.variables.size() &&
      std::all_of(content_.variables.begin() + 1, content_.variables.begin() + 1 + std::ssize(table), is_column);
  if (table == names && in_a_row) return;
  const auto [ours, theirs] = std::ranges::mismatch(table, names);
  throw Error(ErrorCode::version_mismatch,
              fmt::format("the variables of the FMU do not match its scenario: expected {} inputs and outputs, "
                          "found {}; the first difference is '{}' instead of '{}'; export the FMU again",
                          names.size(), table.size(), ours == table.end() ? "none" : *ours,
                          theirs == names.end() ? "none" : *theirs));
}

double Fmu::parameter(const FmuVariable& requested) const {
  const auto found = parameters_.find(requested.reference);
  return found == parameters_.end() ? requested.start : found->second;
}

void Fmu::get(std::span<const std::uint32_t> references, std::span<double> values) {
  std::span<const double> row;
  for (std::size_t i = 0; i < references.size(); ++i) {
    const FmuVariable& requested = variable(references[i]);
    switch (requested.causality) {
      case Causality::independent:
        values[i] = time();
        break;
      case Causality::parameter: {
        const auto tuned = pending_tunable_.find(requested.reference);
        values[i] = tuned != pending_tunable_.end() ? tuned->second : parameter(requested);
        break;
      }
      case Causality::input: {
        const auto found = inputs_.find(requested.reference);
        const auto unset = model_ ? model_->unset_input(requested.reference - first_input_) : std::nullopt;
        values[i] = found != inputs_.end() ? found->second.at(time()) : unset.value_or(requested.start);
        break;
      }
      case Causality::output:
      case Causality::local:
        require(state_ != State::instantiated, "Get of an output");
        if (row.empty()) {
          open();
          apply_inputs();
          row = model_->outputs();
        }
        values[i] = row[requested.reference - first_output_];
        if (std::isnan(values[i])) values[i] = 0.0;
        break;
    }
  }
}

void Fmu::require_settable(const FmuVariable& target, double value) const {
  if (!std::isfinite(value)) {
    throw input_error(target.name, fmt::format("{}: expected a finite number, found {}", target.name, value));
  }
  if (target.causality != Causality::parameter && target.causality != Causality::input) {
    throw input_error(target.name, fmt::format("{}: it is calculated and cannot be set", target.name));
  }
  if (value < target.min || value > target.max) {
    throw input_error(target.name, fmt::format("{}: expected a number from {} to {} [{}], found {}", target.name,
                                               target.min, target.max, target.unit, value));
  }
  require(!is_any_of(State::terminated, State::update), "Set");
  if (target.causality == Causality::input || is_any_of(State::instantiated, State::initialization)) return;
  require(target.tunable, "Set of a fixed parameter");
  require(state_ != State::continuous, "Set of a parameter");  // it makes rates jump, which is allowed at events only
  if (server_.empty() || !target.name.starts_with("contact.")) return;
  throw Error(
      ErrorCode::unimplemented,
      fmt::format("{}: it can be set until the initialisation ends where a contact server computes ('server' is "
                  "{}); leave 'server' empty to tune it between steps",
                  target.name, server_));
}

void Fmu::require_texts(std::span<const std::uint32_t> references) const {
  const std::uint32_t only = server_variable(content_).reference;
  for (const std::uint32_t reference : references) {
    if (content_.has_contacts && reference == only) continue;
    throw input_error("valueReference",
                      fmt::format("valueReference {}: expected a variable that is a text ({}), found none", reference,
                                  content_.has_contacts ? fmt::format("'server', {}", only) : "this FMU has none"));
  }
}

void Fmu::get_texts(std::span<const std::uint32_t> references, std::span<const char*> values) const {
  require_texts(references);
  std::ranges::fill(values, server_.c_str());
}

void Fmu::set_texts(std::span<const std::uint32_t> references, std::span<const char* const> values) {
  require_texts(references);
  if (references.empty()) return;
  require(is_any_of(State::instantiated, State::initialization), "Set of a fixed parameter");
  for (const std::string address : values) {
    if (!address.empty()) (void)rpc::parse_address(address);
  }
  server_ = values.back();
  discard_model();
}

void Fmu::discard_model() {
  model_.reset();
  for (auto& [reference, input] : inputs_) input.is_new = true;
}

void Fmu::set(std::span<const std::uint32_t> references, std::span<const double> values) {
  for (std::size_t i = 0; i < references.size(); ++i) require_settable(variable(references[i]), values[i]);
  for (std::size_t i = 0; i < references.size(); ++i) {
    const FmuVariable& target = variable(references[i]);
    if (target.causality == Causality::parameter) {
      if (is_any_of(State::instantiated, State::initialization)) {
        parameters_[target.reference] = values[i];
        discard_model();
      } else {
        pending_tunable_[target.reference] = values[i];
        is_discontinuous_ = true;
      }
    } else {
      Input& input = inputs_[target.reference];
      // A master sets inputs at every communication point; only a changed value restarts the integrator.
      if (input.jet.d == 0.0 && input.jet.dd == 0.0 && input.jet.f == values[i] && !input.is_new) continue;
      input = {.since = time(), .jet = {.f = values[i], .d = 0.0, .dd = 0.0}, .is_new = true};
      is_discontinuous_ = is_discontinuous_ || state_ == State::event;
    }
  }
}

void Fmu::set_derivatives(std::span<const std::uint32_t> references, std::span<const int> orders,
                          std::span<const double> values) {
  require(!is_any_of(State::instantiated, State::terminated, State::update), "Set of a derivative");
  for (std::size_t i = 0; i < references.size(); ++i) {
    const FmuVariable& target = variable(references[i]);
    require_settable(target, values[i]);
    if (target.causality == Causality::input && (orders[i] == 1 || orders[i] == 2)) continue;
    throw input_error(target.name,
                      fmt::format("{}: only first and second derivatives of inputs can be set", target.name));
  }
  for (std::size_t i = 0; i < references.size(); ++i) {
    Input& input = inputs_[references[i]];
    input = {.since = time(), .jet = {.f = input.at(time()), .d = input.jet.d, .dd = input.jet.dd}, .is_new = true};
    (orders[i] == 1 ? input.jet.d : input.jet.dd) = values[i];
    is_discontinuous_ = is_discontinuous_ || state_ == State::event;
  }
}

void Fmu::rebuild_with_tuned_parameters() {
  const std::string bytes = model_->save();
  const std::map<std::uint32_t, double> before = parameters_;
  for (const auto& [reference, value] : std::exchange(pending_tunable_, {})) parameters_[reference] = value;
  std::unique_ptr<FmuModel> old = std::move(model_);
  try {
    open();
    model_->restore(bytes);
  } catch (...) {
    parameters_ = before;
    model_ = std::move(old);
    throw;
  }
}

void Fmu::apply_inputs() {
  if (!pending_tunable_.empty()) rebuild_with_tuned_parameters();
  for (auto& [reference, input] : inputs_) {
    if (!std::exchange(input.is_new, false)) continue;
    model_->set_input(reference - first_input_, input.jet);
  }
}

bool Fmu::is_at_time(double t) const {
  return same_time(t, time());
}

bool Fmu::do_step(double t, double h, bool may_return_early, const InternalStep& on_step) {
  require(state_ == State::stepping, "DoStep");
  if (!same_time(t, time())) {
    throw input_error("currentCommunicationPoint",
                      fmt::format("currentCommunicationPoint: the FMU is at {} s, found {} s", time(), t));
  }
  if (!(h > 0.0))
    throw input_error("communicationStepSize",
                      fmt::format("communicationStepSize: expected a positive time, found {} s", h));
  apply_inputs();
  InternalStep watched;
  if (on_step) {
    watched = [&](double now) {
      state_ = State::update;
      const std::optional<double> end = on_step(now);
      state_ = State::stepping;
      return end;
    };
  }
  return model_->advance_to(t + h, may_return_early, watched);
}

std::vector<double> Fmu::derivative(std::span<const std::uint32_t> unknowns, std::span<const std::uint32_t> knowns,
                                    std::span<const double> seed, bool adjoint) {
  require(!is_any_of(State::instantiated, State::update), "the call for a derivative");
  if (seed.size() != (adjoint ? unknowns : knowns).size()) {
    throw input_error("nSeed", "nSeed: one number for each variable that is multiplied, all are scalars");
  }
  open();
  apply_inputs();
  // Rates are local variables; states are outputs or local variables.
  const bool has_states = content_.model_exchange && content_.pair.empty();
  const auto index = [&](std::uint32_t reference, Causality causality, std::uint32_t first) {
    const FmuVariable& found = variable(reference);
    const bool is_readable = found.causality == Causality::output || found.causality == Causality::local;
    if (found.causality == causality || (has_states && is_readable)) return static_cast<std::size_t>(reference - first);
    throw input_error(found.name, fmt::format("{}: derivatives are those of outputs with respect to inputs, and it is "
                                              "none of the {}",
                                              found.name, causality == Causality::input ? "inputs" : "outputs"));
  };
  std::vector<std::size_t> rows, columns;
  for (const std::uint32_t unknown : unknowns) rows.push_back(index(unknown, Causality::output, first_output_));
  for (const std::uint32_t known : knowns) columns.push_back(index(known, Causality::input, 1));
  const Eigen::MatrixXd tangent = model_->tangent(rows, columns);
  std::vector<double> result((adjoint ? knowns : unknowns).size(), 0.0);
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    for (std::size_t j = 0; j < knowns.size(); ++j) {
      result[adjoint ? j : i] +=
          tangent(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) * seed[adjoint ? i : j];
    }
  }
  return result;
}

std::string Fmu::save() {
  require(state_ != State::update, "GetFMUState");
  if (state_ != State::instantiated) {
    open();
    apply_inputs();
  }
  std::string bytes;
  const auto state = static_cast<std::int32_t>(state_);
  const auto n = static_cast<std::uint32_t>(inputs_.size());
  const double stop_time = stop_time_.value_or(none);
  append(bytes, &state, sizeof state);
  append(bytes, &start_time_, sizeof start_time_);
  append(bytes, &stop_time, sizeof stop_time);
  for (const FmuVariable& v : content_.variables) {
    if (v.causality != Causality::parameter) continue;
    const double value = parameter(v);
    append(bytes, &value, sizeof value);
  }
  append(bytes, &n, sizeof n);
  for (const auto& [reference, input] : inputs_) {
    append(bytes, &reference, sizeof reference);
    for (const double number : {input.since, input.jet.f, input.jet.d, input.jet.dd})
      append(bytes, &number, sizeof number);
  }
  // The bits are the same at every location, so that a state saved before the initialisation may continue elsewhere.
  if (state_ == State::instantiated) return bytes + server_;
  return bytes + model_->save();
}

void Fmu::restore_uninitialised(double start_time, std::optional<double> stop_time,
                                std::map<std::uint32_t, double> parameters, std::string_view bytes) {
  model_.reset();
  const double start_before = std::exchange(start_time_, start_time);
  const auto stop_before = std::exchange(stop_time_, stop_time);
  const auto parameters_before = std::exchange(parameters_, std::move(parameters));
  try {
    open();
    model_->restore(bytes);
  } catch (...) {
    model_.reset();
    start_time_ = start_before;
    stop_time_ = stop_before;
    parameters_ = parameters_before;
    throw;
  }
}

void Fmu::restore(const std::string& saved) {
  require(state_ != State::update, "SetFMUState");
  std::string_view bytes = saved;
  const auto state = take<std::int32_t>(bytes);
  if (state < 0 || state > static_cast<std::int32_t>(State::continuous) ||
      state == static_cast<std::int32_t>(State::update)) {
    throw input_error("state", "state: the bytes are not a state of an FMU");
  }
  const double start_time = take<double>(bytes);
  const double stop_time = take<double>(bytes);
  std::map<std::uint32_t, double> parameters, tuned;
  for (const FmuVariable& v : content_.variables) {
    if (v.causality != Causality::parameter) continue;
    const double value = take<double>(bytes);
    if (value != v.start) parameters[v.reference] = value;
    if (v.tunable && value != parameter(v)) tuned[v.reference] = value;
  }
  std::map<std::uint32_t, Input> inputs;
  for (auto n = take<std::uint32_t>(bytes); n > 0; --n) {
    const auto reference = take<std::uint32_t>(bytes);
    if (variable(reference).causality != Causality::input) {
      throw input_error("state", "state: the bytes are not a state of an FMU");
    }
    Input& input = inputs[reference];
    input.since = take<double>(bytes);
    input.jet.f = take<double>(bytes);
    input.jet.d = take<double>(bytes);
    input.jet.dd = take<double>(bytes);
  }
  const std::optional<double> stop = std::isnan(stop_time) ? std::nullopt : std::optional(stop_time);
  if (static_cast<State>(state) == State::instantiated) {  // no model exists yet, and all variables can be set
    if (!bytes.empty()) {
      if (!content_.has_contacts) throw input_error("state", "state: the bytes are not a state of an FMU");
      (void)rpc::parse_address(std::string(bytes));
    }
    for (auto& [reference, input] : inputs) input.is_new = true;
    model_.reset();
    server_ = bytes;
    start_time_ = start_time;
    stop_time_ = stop;
    parameters_ = std::move(parameters);
    tuned.clear();
  } else if (state_ == State::instantiated) {
    restore_uninitialised(start_time, stop, std::move(parameters), bytes);
    tuned.clear();
  } else {
    open();
    model_->restore(bytes);
  }
  pending_tunable_ = std::move(tuned);
  inputs_ = std::move(inputs);
  state_ = static_cast<State>(state);
}

}  // namespace heelstrike::fmu
