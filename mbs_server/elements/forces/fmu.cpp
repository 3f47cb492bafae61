#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/formulation/load_force.hpp"
#include "mbs_server/formulation/sampled_fmu.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

struct UnitComponent {
  const char* name;
  const char* suffix;  ///< of columns
  const char* unit;
};
constexpr std::array<UnitComponent, 6> unit_components = {{{"fx", "_N", "N"},
                                                           {"fy", "_N", "N"},
                                                           {"fz", "_N", "N"},
                                                           {"tx", "_Nm", "N m"},
                                                           {"ty", "_Nm", "N m"},
                                                           {"tz", "_Nm", "N m"}}};

constexpr std::array<UnitComponent, 8> drive_coordinates = {{{"angle", "_rad", "rad"},
                                                             {"displacement", "_m", "m"},
                                                             {"x", "_m", "m"},
                                                             {"y", "_m", "m"},
                                                             {"z", "_m", "m"},
                                                             {"rx", "_rad", "rad"},
                                                             {"ry", "_rad", "rad"},
                                                             {"rz", "_rad", "rad"}}};

/// An output of an FMU, held constant between communication points.
class SampledOutput final : public TimeFunction {
 public:
  SampledOutput(std::shared_ptr<const SampledFmu> fmu, std::size_t index, double scale)
      : fmu_(std::move(fmu)), index_(index), scale_(scale) {}
  [[nodiscard]] Jet at(double /*t*/) const override { return {.f = scale_ * fmu_->output_values[index_]}; }

 private:
  std::shared_ptr<const SampledFmu> fmu_;
  std::size_t index_;
  double scale_;
};

/// Forces and torques from the outputs of a co-simulation FMU, held between its communication points independently of
/// the trial states of the integrator.
class FmuForce final : public ForceElement {
 public:
  FmuForce(std::shared_ptr<const SampledFmu> fmu, const std::vector<Load>& loads, std::vector<Column> columns)
      : fmu_(std::move(fmu)), loads_(loads.begin(), loads.end()), columns_(std::move(columns)) {}
  [[nodiscard]] std::string name() const override { return fmu_->name; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override {
    for (LoadForce& load : loads_) load.add_forces(at, g, energy);
  }
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override {
    for (LoadForce& load : loads_) load.add_tangents(at, K, C);
  }
  [[nodiscard]] std::vector<Column> columns() const override { return columns_; }
  void append_values(const MotionState& /*at*/, std::vector<double>& row) const override {
    row.insert(row.end(), fmu_->input_values.begin(), fmu_->input_values.end());
    row.insert(row.end(), fmu_->output_values.begin(), fmu_->output_values.end());
  }

 private:
  std::shared_ptr<const SampledFmu> fmu_;
  std::vector<LoadForce> loads_;
  std::vector<Column> columns_;
};

std::size_t component_of(const config::Field& output) {
  const auto found = std::ranges::find(unit_components, output["component"].text(),
                                       [](const UnitComponent& c) { return std::string(c.name); });
  return static_cast<std::size_t>(found - unit_components.begin());
}

/// The entries of a list of maps.
std::vector<config::Field> items_of(const config::Field& keys, const std::string& key) {
  std::vector<config::Field> items;
  if (!keys.has(key)) return items;
  const config::Field list = keys[key];
  for (std::size_t i = 0; i < list.node().items.size(); ++i) {
    items.emplace_back(list.document(), *list.node().items[i], fmt::format("{}[{}]", list.path(), i));
  }
  return items;
}

config::KeySchema list_of_maps(std::string name, std::string meaning, std::string entry_meaning,
                               std::vector<config::KeySchema> keys) {
  return {.name = std::move(name),
          .kind = config::KeyKind::list,
          .meaning = std::move(meaning),
          .keys = {{.kind = config::KeyKind::map, .meaning = std::move(entry_meaning), .keys = std::move(keys)}}};
}

std::vector<config::KeySchema> fmu_keys() {
  const config::KeySchema variable =
      config::required(config::text("variable", "name in the modelDescription.xml of the FMU"));
  config::KeySchema component = config::required(config::text("component", "of force or torque"));
  for (const auto& c : unit_components) component.choices.emplace_back(c.name);
  config::KeySchema frame = config::text("frame", "axes of the component");
  frame.choices = {"world", "body"};
  frame.fallback = "world";
  config::KeySchema coordinate = config::required(config::text("coordinate", "key of the driver's function"));
  for (const auto& c : drive_coordinates) coordinate.choices.emplace_back(c.name);
  return {
      config::required(config::file("file", "the FMU: FMI 2.0 or 3, co-simulation, Linux on x86-64")),
      config::required(
          config::number("step", "s", config::times, "communication step size; communication points start at 0")),
      list_of_maps("inputs", "inputs of the FMU, set at each communication point", "one input variable",
                   {variable, config::required(config::text("column", "a column of the time series"))}),
      list_of_maps("outputs", "outputs of the FMU, held from one communication point to the next",
                   "one output variable",
                   {variable, config::required(config::text("body", "body on which it acts")), component, frame,
                    config::vector3("point", "m", config::coordinates, "where a force acts, in the body frame"),
                    config::number("scale", "-", config::function_numbers, "factor of the value", 1)}),
      list_of_maps("driven_coordinates", "coordinates of drivers that the FMU prescribes", "one coordinate",
                   {config::required(config::text("variable", "output variable with the coordinate")),
                    config::required(config::text("rate", "output variable with its rate")),
                    config::required(config::text("driver", "name in `drivers`; its function gives the initial value")),
                    coordinate}),
      list_of_maps("parameters", "parameters of the FMU, set before initialisation", "one parameter",
                   {variable, config::required(config::text(
                                  "value", "a number in the unit of the variable, true or false, or a string"))})};
}

void check_fmu(const config::Field& field, const Scenario& scenario) {
  if (!scenario.analysis.traits.finds_events) {
    field.reject("analysis.type forward for an FMU, whose state advances in time", scenario.analysis.type,
                 "prescribe the force by a load with a function of time instead");
  }
  const config::Field step = field["step"];
  if (step.number() > scenario.analysis.end_time) {
    step.reject(fmt::format("a step within the run, at most {} s", scenario.analysis.end_time),
                fmt::format("{} s", step.number()), "its inputs would be set at the start only");
  }
  if (items_of(field, "outputs").empty() && items_of(field, "driven_coordinates").empty()) {
    field.reject("at least one entry of `outputs` or `driven_coordinates`", "none",
                 "an FMU without outputs has no effect");
  }
  for (const config::Field& output : items_of(field, "outputs")) {
    const std::string& body = output["body"].text();
    if (std::ranges::find(scenario.bodies, body, &BodySpec::name) == scenario.bodies.end()) {
      output["body"].reject("the name of a body", body, "see `bodies`");
    }
  }
  for (const char* key : {"inputs", "outputs", "parameters"}) {
    std::vector<std::string> seen;
    for (const config::Field& item : items_of(field, key)) {
      const std::string& variable = item["variable"].text();
      // One output may act at several points; an input or parameter has one value.
      if (std::string_view(key) != "outputs" && std::ranges::find(seen, variable) != seen.end()) {
        item["variable"].reject("each variable once", variable, "keep one of its lines");
      }
      seen.push_back(variable);
    }
  }
}

/// A value: a number or Boolean when written without quotes, otherwise a string.
std::variant<double, bool, std::string> read_value(const config::Field& field) {
  double number = 0.0;
  if (config::read_number(field.node(), number)) return number;
  if (field.node().plain && (field.text() == "true" || field.text() == "false")) return field.flag();
  return field.text();
}

/// "pd.mass.fx_N", or "pd.2.mass.fx_N" if the FMU already has a column of that name.
std::string own_column(const std::vector<Column>& columns, const std::string& element, const std::string& rest) {
  std::string name = element + "." + rest;
  for (int n = 2; std::ranges::find(columns, name, &Column::name) != columns.end(); ++n) {
    name = fmt::format("{}.{}.{}", element, n, rest);
  }
  return name;
}

void read_inputs(const ElementSpec& spec, SampledFmu& fmu, std::vector<Column>& columns) {
  for (const config::Field& item : items_of(spec.keys, "inputs")) {
    const std::string& variable = item["variable"].text();
    const std::string& column = item["column"].text();
    fmu.inputs.push_back({variable, column, config::location_of(item)});
    columns.push_back({own_column(columns, spec.name, column), "",
                       fmt::format("{} as last set in the FMU (input {})", column, variable)});
  }
}

/// @returns the loads of the outputs
std::vector<Load> read_outputs(const ElementSpec& spec, const Model& model, const std::shared_ptr<SampledFmu>& fmu,
                               std::vector<Column>& columns) {
  std::vector<Load> loads;
  for (const config::Field& item : items_of(spec.keys, "outputs")) {
    const std::string& variable = item["variable"].text();
    const std::string& body = item["body"].text();
    const std::size_t i = component_of(item);
    Load load{.name = spec.name,
              .body = find_body(model, body, config::location_of(item["body"])),
              .point = item["point"].vector3()};
    if (item["frame"].text() == "body") load.axes_body = load.body;
    load.functions[i] = std::make_shared<SampledOutput>(fmu, fmu->outputs.size(), item["scale"].number());
    loads.push_back(std::move(load));
    fmu->outputs.push_back({variable, config::location_of(item)});
    columns.push_back({own_column(columns, spec.name,
                                  fmt::format("{}.{}{}", body, unit_components[i].name, unit_components[i].suffix)),
                       unit_components[i].unit,
                       fmt::format("last value of {} of {} from the FMU (output {}), before `scale`",
                                   unit_components[i].name, body, variable)});
  }
  return loads;
}

void read_drives(const ElementSpec& spec, SampledFmu& fmu, std::vector<Column>& columns) {
  for (const config::Field& item : items_of(spec.keys, "driven_coordinates")) {
    const std::string name = item["driver"].text() + "." + item["coordinate"].text();
    const auto c = std::ranges::find(drive_coordinates, item["coordinate"].text(),
                                     [](const UnitComponent& known) { return std::string(known.name); });
    const std::string key = config::location_of(item);
    fmu.drives.push_back({.driver = item["driver"].text(),
                          .coordinate = c->name,
                          .value = fmu.outputs.size(),
                          .rate = fmu.outputs.size() + 1,
                          .key = key});
    for (const bool is_rate : {false, true}) {
      const std::string variable = item[is_rate ? "rate" : "variable"].text();
      fmu.outputs.push_back({variable, key});
      columns.push_back(
          {fmt::format("{}.{}{}{}{}", spec.name, name, is_rate ? "_rate" : "", c->suffix, is_rate ? "_s" : ""),
           fmt::format("{}{}", c->unit, is_rate ? "/s" : ""),
           fmt::format("last value of {} from the FMU at the end of the communication step (output {})", name,
                       variable)});
    }
  }
}

Force build_fmu(const ElementSpec& spec, const Model& model) {
  auto fmu = std::make_shared<SampledFmu>();
  fmu->name = spec.name;
  fmu->file = spec.keys["file"].text();
  fmu->key = config::location_of(spec.keys["file"]);
  fmu->step = spec.keys["step"].number();
  std::vector<Column> columns;
  read_inputs(spec, *fmu, columns);
  const std::vector<Load> loads = read_outputs(spec, model, fmu, columns);
  read_drives(spec, *fmu, columns);
  for (const config::Field& item : items_of(spec.keys, "parameters")) {
    fmu->parameters.push_back({item["variable"].text(), read_value(item["value"]), config::location_of(item)});
  }
  fmu->input_values.assign(fmu->inputs.size(), 0.0);
  fmu->output_values.assign(fmu->outputs.size(), 0.0);
  fmu->start_values = fmu->output_values;
  return Force{.name = spec.name,
               .make = [fmu, loads, columns] { return std::make_unique<FmuForce>(fmu, loads, columns); },
               .fmu = fmu};
}

}  // namespace

ForceType fmu() {
  ForceType type;
  type.name = "fmu";
  type.meaning = "co-simulation FMU, stepped at communication points; docs/guide/fmi.md";
  type.keys = fmu_keys();
  type.check = check_fmu;
  type.build = build_fmu;
  type.steps_fmu = true;
  return type;
}

}  // namespace heelstrike::mbs
