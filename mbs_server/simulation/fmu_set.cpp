#include "mbs_server/simulation/fmu_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "fmi/imported_fmu.hpp"
#include "mbs_server/formulation/sampled_fmu.hpp"

namespace heelstrike::mbs {

namespace {

std::string described(const std::variant<double, bool, std::string>& value) {
  if (const double* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return fmt::format("the text '{}'", printable(std::get<std::string>(value)));
}

/// 2^53: above it a number may have been rounded to a neighbouring integer.
constexpr double first_rounded = 0x1p53;

/// The value of a numeric parameter; none = not representable in its type. Parameters are not rounded.
std::optional<double> number_for(NumberType type, const std::variant<double, bool, std::string>& value) {
  if (const bool* flag = std::get_if<bool>(&value)) {
    return type == NumberType::boolean ? std::optional(*flag ? 1.0 : 0.0) : std::nullopt;
  }
  const double* number = std::get_if<double>(&value);
  if (number == nullptr || !std::isfinite(*number)) return std::nullopt;
  const bool fits =
      type == NumberType::float64 || type == NumberType::float32 ||
      (type == NumberType::boolean ? *number == 0.0 || *number == 1.0
                                   : *number == std::nearbyint(*number) && std::abs(*number) < first_rounded);
  return fits ? std::optional(*number) : std::nullopt;
}

[[noreturn]] void throw_invalid_value(const FmuVariable& variable, const SampledFmu::Parameter& parameter) {
  const auto type = variable.number_type();
  const bool is_real = type == NumberType::float64 || type == NumberType::float32;
  throw input_error(parameter.key + ".value",
                    fmt::format("{}.value: expected {} for the variable '{}' of type {}, found {}; {}", parameter.key,
                                !type                         ? "a text"
                                : type == NumberType::boolean ? "true or false (1 or 0)"
                                : is_real                     ? "a finite number"
                                                              : "a whole number below 2^53",
                                variable.name, variable.type, described(parameter.value),
                                type ? "write it without quotes" : "write it in quotes"));
}

/// @throws Error{invalid_input} for a value outside the type of the variable
const FmuVariable& variable_of(const SampledFmu::Parameter& parameter, const FmuDescription& description) {
  const FmuVariable& variable = description.parameter(parameter.variable, parameter.key + ".variable");
  const auto type = variable.number_type();
  const bool fits =
      type ? number_for(*type, parameter.value).has_value() : std::holds_alternative<std::string>(parameter.value);
  if (!fits) throw_invalid_value(variable, parameter);
  return variable;
}

/// @throws Error{invalid_input} as variable_of
void set_parameter(const SampledFmu::Parameter& parameter, ImportedFmu& fmu) {
  const FmuVariable* variable = &variable_of(parameter, fmu.description());
  const auto type = variable->number_type();
  if (!type) return fmu.set_text(*variable, std::get<std::string>(parameter.value));
  const double number = number_for(*type, parameter.value).value();
  fmu.set({&variable, 1}, {&number, 1});
}

}  // namespace

/// One FMU with its position on the grid of its communication points.
class FmuSet::Running {
 public:
  explicit Running(std::shared_ptr<SampledFmu> fmu) : sampled_(std::move(fmu)) {}

  void open(std::span<const AssetContent> assets, bool allowed, std::vector<Column>& columns);
  void check_file(std::span<const AssetContent> assets, bool allowed, std::vector<Column> columns);
  [[nodiscard]] const std::string& name() const { return sampled_->name; }
  [[nodiscard]] bool has_state() const {
    return !fmu_ || (fmu_->description().can_get_and_set_state && fmu_->description().can_serialize_state);
  }
  [[nodiscard]] double length() const { return sampled_->step; }
  /// [s] the next communication point.
  [[nodiscard]] double next() const { return sampled_->step * static_cast<double>(next_); }
  /// Equal times as multiples of different steps differ by rounding, as does the end of a run.
  [[nodiscard]] bool is_step_due(double t) const { return next() <= t + rounding * sampled_->step; }
  void require_multiple_of(double macro_step) const;
  void step(double t, std::span<const double> row);
  [[nodiscard]] FmuState save() const;
  void require(const FmuState& state) const;
  void restore(const FmuState& state);

  static constexpr double rounding = 1e-9;

 private:
  void require_permission(bool allowed) const;
  [[nodiscard]] const std::string& content_in(std::span<const AssetContent> assets) const;
  void find_columns(std::vector<Column>& columns);
  void find_variables(const FmuDescription& description);
  void initialise();

  std::shared_ptr<SampledFmu> sampled_;
  std::unique_ptr<ImportedFmu> fmu_;
  std::int64_t next_ = 0;                             ///< index of the communication point
  bool initialised_ = false;                          ///< its first inputs are those of the initial state
  std::vector<std::size_t> columns_;                  ///< per input, in a row
  std::vector<const FmuVariable*> inputs_, outputs_;  ///< of the FMU's model description
};

void FmuSet::Running::open(std::span<const AssetContent> assets, bool allowed, std::vector<Column>& columns) {
  require_permission(allowed);
  find_columns(columns);
  fmu_ = load_fmu(content_in(assets), sampled_->name, sampled_->key);
  find_variables(fmu_->description());
  for (const auto& parameter : sampled_->parameters) set_parameter(parameter, *fmu_);
}

void FmuSet::Running::check_file(std::span<const AssetContent> assets, bool allowed, std::vector<Column> columns) {
  require_permission(allowed);
  Running trial(sampled_);  // finds what refers to the columns and the description here
  trial.find_columns(columns);
  const FmuDescription description = check_fmu(content_in(assets), sampled_->key);
  trial.find_variables(description);
  for (const auto& parameter : sampled_->parameters) (void)variable_of(parameter, description);
}

void FmuSet::Running::require_permission(bool allowed) const {
  if (allowed) return;
  throw input_error(
      sampled_->key,
      fmt::format("{}: the FMU '{}' is machine code that this server does not run for its clients; start "
                  "mbs_server with --allow-fmu if all clients that may submit runs are trusted, or run without "
                  "--mbs",
                  sampled_->key, sampled_->file));
}

const std::string& FmuSet::Running::content_in(std::span<const AssetContent> assets) const {
  const auto asset = std::ranges::find(assets, sampled_->file, &AssetContent::name);
  if (asset == assets.end()) {
    throw input_error(sampled_->key, fmt::format("{}: the file '{}' was not submitted with the scenario", sampled_->key,
                                                 sampled_->file));
  }
  return asset->content;
}

void FmuSet::Running::find_columns(std::vector<Column>& columns) {
  for (const auto& input : sampled_->inputs) {
    const auto found = std::ranges::find(columns, input.column, &Column::name);
    if (found == columns.end()) {
      throw input_error(input.key,
                        fmt::format("{}.column: expected a column of the time series, found '{}'; `heelstrike "
                                    "validate --describe` and the header of a time series list them",
                                    input.key, input.column));
    }
    columns_.push_back(static_cast<std::size_t>(found - columns.begin()));
    for (Column& column : columns) {
      const bool is_own = column.name.starts_with(sampled_->name + ".") && column.name.ends_with("." + input.column);
      if (is_own && column.unit.empty()) column.unit = found->unit;
    }
  }
}

void FmuSet::Running::find_variables(const FmuDescription& description) {
  for (const auto& input : sampled_->inputs) {
    inputs_.push_back(&description.number(input.variable, "input", input.key + ".variable"));
  }
  for (std::size_t i = 0; i < sampled_->outputs.size(); ++i) {
    const auto& output = sampled_->outputs[i];
    const bool drives = std::ranges::any_of(
        sampled_->drives, [&](const SampledFmu::Drive& drive) { return drive.value == i || drive.rate == i; });
    const std::string key = output.key + ".variable";
    outputs_.push_back(drives ? &description.real(output.variable, "output", key)
                              : &description.number(output.variable, "output", key));
  }
}

void FmuSet::Running::require_multiple_of(double macro_step) const {
  const double n = sampled_->step / macro_step;
  if (n > 0.5 && std::abs(n - std::round(n)) <= rounding * n) return;
  throw input_error(sampled_->key,
                    fmt::format("{}: expected a `step` of the FMU that is a multiple of coupling.macro_step, "
                                "{} s, found {} s; change one of them",
                                sampled_->key, macro_step, sampled_->step));
}

void FmuSet::Running::initialise() {
  fmu_->enter_initialization();
  fmu_->set(inputs_, sampled_->input_values);
  fmu_->exit_initialization();
  initialised_ = true;
}

void FmuSet::Running::step(double t, std::span<const double> row) {
  for (std::size_t i = 0; i < columns_.size(); ++i) sampled_->input_values[i] = row[columns_[i]];
  if (!initialised_) initialise();
  fmu_->set(inputs_, sampled_->input_values);
  fmu_->step(next(), sampled_->step);
  std::vector<double> values(outputs_.size());
  fmu_->get(outputs_, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw Error(
        ErrorCode::solver_failed,
        fmt::format("{}: expected finite numbers from the FMU, found {} for '{}' in the step from t = {} s; reduce "
                    "its `step`, or see its documentation for its limits",
                    sampled_->key, values[i], sampled_->outputs[i].variable, t),
        sampled_->key);
  }
  sampled_->since = next();
  sampled_->start_values = std::exchange(sampled_->output_values, std::move(values));
  ++next_;
}

FmuState FmuSet::Running::save() const {
  if (!has_state()) {
    throw Error(
        ErrorCode::unimplemented,
        fmt::format("{}: the FMU cannot serialise its state (canGetAndSetFMUState and canSerializeFMUState), so "
                    "that its run can neither be saved nor resumed; run it in one piece",
                    sampled_->key),
        sampled_->key);
  }
  return {.next = next_,
          .inputs = sampled_->input_values,
          .outputs = sampled_->output_values,
          .before = sampled_->start_values,
          .bytes = initialised_ ? fmu_->save() : std::string()};
}

void FmuSet::Running::require(const FmuState& state) const {
  const bool fits = state.next >= 0 && state.inputs.size() == inputs_.size() &&
                    state.outputs.size() == outputs_.size() && state.before.size() == outputs_.size();
  if (!fits || !has_state()) {
    throw input_error("checkpoint", fmt::format("checkpoint: expected the state of the FMU '{}', found one that it "
                                                "rejects; resume with the file of the original run",
                                                sampled_->name));
  }
}

void FmuSet::Running::restore(const FmuState& state) {
  sampled_->input_values = state.inputs;
  sampled_->output_values = state.outputs;
  sampled_->start_values = state.before;
  sampled_->since = sampled_->step * static_cast<double>(std::max<std::int64_t>(state.next - 1, 0));
  next_ = state.next;
  if (state.bytes.empty()) return;
  if (!initialised_) initialise();
  fmu_->restore(state.bytes);
}

FmuSet::FmuSet(const Model& model) {
  for (const Force& force : model.forces) {
    if (force.fmu) fmus_.push_back(std::make_unique<Running>(force.fmu));
  }
}

FmuSet::~FmuSet() = default;

void FmuSet::open(std::span<const AssetContent> assets, bool allowed, std::vector<Column>& columns) {
  for (const auto& fmu : fmus_) fmu->open(assets, allowed, columns);
}

void FmuSet::check_files(std::span<const AssetContent> assets, bool allowed, std::span<const Column> columns) const {
  for (const auto& fmu : fmus_) fmu->check_file(assets, allowed, {columns.begin(), columns.end()});
}

std::vector<std::string> FmuSet::without_fmu_state() const {
  std::vector<std::string> names;
  for (const auto& fmu : fmus_) {
    if (!fmu->has_state()) names.push_back(fmu->name());
  }
  return names;
}

void FmuSet::check_communication_steps(double macro_step) const {
  for (const auto& fmu : fmus_) fmu->require_multiple_of(macro_step);
}

double FmuSet::next_after(double t, double end) const {
  double next = end;
  for (const auto& fmu : fmus_) {
    // FMUs that are due at t are stepped before this call, and those due at the end are not stepped any more.
    if (!fmu->is_step_due(t) && fmu->next() < end - Running::rounding * fmu->length())
      next = std::min(next, fmu->next());
  }
  return next;
}

bool FmuSet::due(double t) const {
  return std::ranges::any_of(fmus_, [&](const auto& fmu) { return fmu->is_step_due(t); });
}

void FmuSet::do_due_steps(double t, std::span<const double> row) {
  for (const auto& fmu : fmus_) {
    if (fmu->is_step_due(t)) fmu->step(t, row);
  }
}

std::map<std::string, FmuState> FmuSet::save() const {
  std::map<std::string, FmuState> states;
  for (const auto& fmu : fmus_) states.emplace(fmu->name(), fmu->save());
  return states;
}

void FmuSet::require(const std::map<std::string, FmuState>& states) const {
  for (const auto& fmu : fmus_) {
    const auto found = states.find(fmu->name());
    if (found == states.end() || states.size() != fmus_.size()) {
      throw input_error("checkpoint",
                        fmt::format("checkpoint: expected the state of the FMU '{}', found none; it belongs "
                                    "to another scenario",
                                    fmu->name()));
    }
    fmu->require(found->second);
  }
}

void FmuSet::restore(const std::map<std::string, FmuState>& states) {
  for (const auto& fmu : fmus_) fmu->restore(states.at(fmu->name()));
}

}  // namespace heelstrike::mbs
