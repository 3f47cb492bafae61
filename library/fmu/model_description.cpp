#include "library/fmu/model_description.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"

namespace heelstrike::fmu {

namespace {

/// Powers of the base units of FMI in a unit of our tables.
using Powers = std::map<std::string, int>;

const std::map<std::string, Powers>& known_symbols() {
  static const std::map<std::string, Powers> symbols = {
      {"m", {{"m", 1}}},
      {"s", {{"s", 1}}},
      {"kg", {{"kg", 1}}},
      {"rad", {{"rad", 1}}},
      {"K", {{"K", 1}}},
      {"N", {{"kg", 1}, {"m", 1}, {"s", -2}}},
      {"Pa", {{"kg", 1}, {"m", -1}, {"s", -2}}},
      {"J", {{"kg", 1}, {"m", 2}, {"s", -2}}},
      {"W", {{"kg", 1}, {"m", 2}, {"s", -3}}},
      {"1", {}},
  };
  return symbols;
}

/// "N m/rad^2": a product of symbols with powers, over such a product. None for other texts or unknown symbols.
std::optional<Powers> powers_of(const std::string& unit) {
  Powers powers;
  int sign = 1;
  std::string symbol;
  std::size_t i = 0;
  const auto close = [&](int power) {
    if (symbol.empty()) return true;
    const auto found = known_symbols().find(symbol);
    if (found == known_symbols().end()) return false;
    for (const auto& [base, p] : found->second) powers[base] += sign * power * p;
    symbol.clear();
    return true;
  };
  while (i < unit.size()) {
    const char c = unit[i];
    if (c == '^') {
      // "N/m^n" and fractional powers have no representation in FMI.
      int power = 0;
      const auto [end, error] = std::from_chars(unit.data() + i + 1, unit.data() + unit.size(), power);
      const auto next = static_cast<std::size_t>(end - unit.data());
      if (error != std::errc() || (next < unit.size() && unit[next] == '.') || !close(power)) return std::nullopt;
      i = next;
      continue;
    }
    if (c == ' ' || c == '/' || c == '(' || c == ')') {
      if (!close(1)) return std::nullopt;
      if (c == '/') sign = -1;
    } else {
      symbol += c;
    }
    ++i;
  }
  if (!close(1)) return std::nullopt;
  return powers;
}

void add_units(pugi::xml_node root, const FmuContent& content, std::set<std::string>& known) {
  auto definitions = root.append_child("UnitDefinitions");
  std::set<std::string> seen;
  for (const FmuVariable& variable : content.variables) {
    if (variable.unit.empty() || variable.unit == "-" || !seen.insert(variable.unit).second) continue;
    const auto powers = powers_of(variable.unit);
    if (!powers) continue;
    known.insert(variable.unit);
    auto unit = definitions.append_child("Unit");
    unit.append_attribute("name") = variable.unit.c_str();
    auto base = unit.append_child("BaseUnit");
    for (const auto& [symbol, power] : *powers) {
      if (power != 0) base.append_attribute(symbol.c_str()) = power;
    }
  }
}

/// Quantity of a unit, where it is unique; null otherwise.
const char* quantity_of(const std::string& unit) {
  static const std::map<std::string, const char*> quantities = {{"s", "Time"},
                                                                {"m", "Length"},
                                                                {"m^2", "Area"},
                                                                {"kg", "Mass"},
                                                                {"rad", "Angle"},
                                                                {"N", "Force"},
                                                                {"N m", "Torque"},
                                                                {"Pa", "Pressure"},
                                                                {"J", "Energy"},
                                                                {"W", "Power"},
                                                                {"m/s", "Velocity"},
                                                                {"rad/s", "AngularVelocity"},
                                                                {"m/s^2", "Acceleration"},
                                                                {"rad/s^2", "AngularAcceleration"},
                                                                {"kg m^2", "MomentOfInertia"},
                                                                {"kg/m^3", "Density"},
                                                                {"N/m", "TranslationalSpringConstant"},
                                                                {"N s/m", "TranslationalDampingConstant"},
                                                                {"N m/rad", "RotationalSpringConstant"},
                                                                {"N m s/rad", "RotationalDampingConstant"}};
  const auto found = quantities.find(unit);
  return found == quantities.end() ? nullptr : found->second;
}

/// The quantities, named as in the Modelica Standard Library, which importers support.
void add_types(FmiVersion version, pugi::xml_node root, const std::set<std::string>& units) {
  auto definitions = root.append_child("TypeDefinitions");
  for (const std::string& unit : units) {
    const char* quantity = quantity_of(unit);
    if (quantity == nullptr) continue;
    auto type = definitions.append_child(version == FmiVersion::v2 ? "SimpleType" : "Float64Type");
    type.append_attribute("name") = quantity;
    auto real = version == FmiVersion::v2 ? type.append_child("Real") : type;
    real.append_attribute("quantity") = quantity;
    real.append_attribute("unit") = unit.c_str();
  }
  if (!definitions.first_child()) root.remove_child(definitions);
}

const char* name_of(Causality causality) {
  constexpr const char* names[] = {"independent", "parameter", "input", "output", "local"};
  return names[static_cast<int>(causality)];
}

/// The description, with the unit appended when FMI cannot express it, as N/m^n of a contact law.
std::string description_of(const FmuVariable& variable, const std::set<std::string>& units) {
  if (variable.unit.empty() || variable.unit == "-" || units.contains(variable.unit)) return variable.meaning;
  return fmt::format("{} [{}]", variable.meaning, variable.unit);
}

/// Continuous states of model exchange.
std::set<std::uint32_t> states_of(const FmuContent& content) {
  std::set<std::uint32_t> states;
  for (const FmuVariable& variable : content.variables) {
    if (variable.derivative_of) states.insert(*variable.derivative_of);
  }
  return states;
}

/// Attributes that both versions have for a variable.
void describe(pugi::xml_node node, const FmuVariable& variable, const std::set<std::string>& units) {
  node.append_attribute("name") = variable.name.c_str();
  node.append_attribute("valueReference") = variable.reference;
  const std::string description = description_of(variable, units);
  if (!description.empty()) node.append_attribute("description") = description.c_str();
  node.append_attribute("causality") = name_of(variable.causality);
  // Numbers of points in contact are continuous, too: discrete variables change at events only.
  node.append_attribute("variability") = variable.tunable                             ? "tunable"
                                         : variable.causality == Causality::parameter ? "fixed"
                                                                                      : "continuous";
  const bool calculated = variable.causality == Causality::output || variable.causality == Causality::local;
  if (calculated) node.append_attribute("initial") = "calculated";
}

/// @param is_state  of model exchange
void add_value(FmiVersion version, pugi::xml_node node, const FmuVariable& variable, bool is_state,
               const std::set<std::string>& units) {
  if (units.contains(variable.unit)) {
    if (const char* quantity = quantity_of(variable.unit)) node.append_attribute("declaredType") = quantity;
    node.append_attribute("unit") = variable.unit.c_str();
  }
  if (variable.derivative_of) {
    node.append_attribute("derivative") = *variable.derivative_of + (version == FmiVersion::v2 ? 1 : 0);
  }
  // States may be reinitialised at events: importers then restart their integrators, which the jump of the rates
  // requires.
  if (is_state) node.append_attribute("reinit") = true;
  if (std::isfinite(variable.min)) node.append_attribute("min") = fmt::format("{}", variable.min).c_str();
  if (std::isfinite(variable.max)) node.append_attribute("max") = fmt::format("{}", variable.max).c_str();
  if (variable.causality != Causality::parameter && variable.causality != Causality::input) return;
  node.append_attribute("start") = fmt::format("{}", variable.start).c_str();
}

void add_variables(FmiVersion version, pugi::xml_node root, const FmuContent& content,
                   const std::set<std::string>& units) {
  auto variables = root.append_child("ModelVariables");
  const std::set<std::uint32_t> states = states_of(content);
  for (const FmuVariable& variable : content.variables) {
    auto node = variables.append_child(version == FmiVersion::v2 ? "ScalarVariable" : "Float64");
    describe(node, variable, units);
    const bool has_intermediate_update = version == FmiVersion::v3 && content.pair.empty() && !content.model_exchange &&
                                         variable.causality == Causality::output;
    if (has_intermediate_update) node.append_attribute("intermediateUpdate") = true;
    add_value(version, version == FmiVersion::v2 ? node.append_child("Real") : node, variable,
              states.contains(variable.reference), units);
  }
  if (!content.has_contacts) return;
  const bool second = version == FmiVersion::v2;
  auto server = variables.append_child(second ? "ScalarVariable" : "String");
  describe(server, server_variable(content), units);
  server.append_child(second ? "String" : "Start").append_attribute(second ? "start" : "value") = "";
}

/// FMI 2.0 counts variables from 1; FMI 3.0 refers to them by reference.
void add_structure(FmiVersion version, pugi::xml_node root, const FmuContent& content) {
  auto structure = root.append_child("ModelStructure");
  const bool second = version == FmiVersion::v2;
  const auto add = [&](pugi::xml_node parent, const char* name, std::uint32_t reference) {
    auto node = parent.append_child(name);
    if (second) {
      node.append_attribute("index") = reference + 1;
    } else {
      node.append_attribute("valueReference") = reference;
    }
  };
  std::vector<std::uint32_t> outputs, rates, indicators, unknowns;
  const std::set<std::uint32_t> states = states_of(content);
  for (const FmuVariable& variable : content.variables) {
    const std::uint32_t reference = variable.reference;
    if (variable.causality == Causality::output) outputs.push_back(reference);
    if (variable.derivative_of) rates.push_back(reference);
    if (variable.is_indicator) indicators.push_back(reference);
    if (variable.causality == Causality::output || variable.derivative_of || states.contains(reference)) {
      unknowns.push_back(reference);
    }
  }
  // The names of lists and elements differ between FMI 2.0 and FMI 3.0; their order is the same.
  const auto add_all = [&](const char* list, const char* name, const std::vector<std::uint32_t>& references) {
    if (references.empty()) return;
    auto parent = second ? structure.append_child(list) : structure;
    for (const std::uint32_t reference : references) add(parent, second ? "Unknown" : name, reference);
  };
  add_all("Outputs", "Output", outputs);
  add_all("Derivatives", "ContinuousStateDerivative", rates);
  add_all("InitialUnknowns", "InitialUnknown", unknowns);
  if (second) return;  // FMI 2.0 counts indicators only
  for (const std::uint32_t reference : indicators) add(structure, "EventIndicator", reference);
}

void add_model_exchange(FmiVersion version, pugi::xml_node root, const FmuModelDescription& unit) {
  auto node = root.append_child("ModelExchange");
  node.append_attribute("modelIdentifier") = unit.model_identifier.c_str();
  node.append_attribute("needsExecutionTool") = false;
  node.append_attribute("canBeInstantiatedOnlyOncePerProcess") = false;
  const bool second = version == FmiVersion::v2;
  node.append_attribute(second ? "canGetAndSetFMUstate" : "canGetAndSetFMUState") = true;
  node.append_attribute(second ? "canSerializeFMUstate" : "canSerializeFMUState") = true;
  node.append_attribute(second ? "completedIntegratorStepNotNeeded" : "needsCompletedIntegratorStep") = !second;
  node.append_attribute(second ? "providesDirectionalDerivative" : "providesDirectionalDerivatives") =
      unit.has_derivatives;
  if (!second) node.append_attribute("providesAdjointDerivatives") = unit.has_derivatives;
}

/// Scenarios locate the beginning and end of contacts, and report internal steps.
void add_co_simulation(FmiVersion version, pugi::xml_node root, const FmuModelDescription& unit, bool is_contact) {
  auto node = root.append_child("CoSimulation");
  node.append_attribute("modelIdentifier") = unit.model_identifier.c_str();
  node.append_attribute("needsExecutionTool") = false;
  node.append_attribute("canBeInstantiatedOnlyOncePerProcess") = false;
  const bool second = version == FmiVersion::v2;
  node.append_attribute(second ? "canGetAndSetFMUstate" : "canGetAndSetFMUState") = true;
  node.append_attribute(second ? "canSerializeFMUstate" : "canSerializeFMUState") = true;
  node.append_attribute("canHandleVariableCommunicationStepSize") = true;
  if (second) {
    node.append_attribute("canInterpolateInputs") = !is_contact;
    node.append_attribute("maxOutputDerivativeOrder") = 0;
    node.append_attribute("providesDirectionalDerivative") = unit.has_derivatives;
  } else {
    node.append_attribute("maxOutputDerivativeOrder") = 0;
    node.append_attribute("mightReturnEarlyFromDoStep") = !is_contact;
    node.append_attribute("hasEventMode") = !is_contact;
    node.append_attribute("providesIntermediateUpdate") = !is_contact;
    node.append_attribute("canReturnEarlyAfterIntermediateUpdate") = !is_contact;
    node.append_attribute("providesDirectionalDerivatives") = unit.has_derivatives;
    node.append_attribute("providesAdjointDerivatives") = unit.has_derivatives;
  }
}

}  // namespace

std::string identifier_of(const std::string& name) {
  std::string identifier;
  for (const char c : name) identifier += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (identifier.empty() || std::isdigit(static_cast<unsigned char>(identifier.front())) != 0)
    identifier.insert(0, "_");
  return identifier;
}

std::string model_description(FmiVersion version, const FmuModelDescription& unit, const FmuContent& content) {
  pugi::xml_document document;
  auto root = document.append_child("fmiModelDescription");
  const bool second = version == FmiVersion::v2;
  root.append_attribute("fmiVersion") = second ? "2.0" : "3.0";
  root.append_attribute("modelName") = unit.name.c_str();
  root.append_attribute(second ? "guid" : "instantiationToken") = content.token.c_str();
  if (!unit.meaning.empty()) root.append_attribute("description") = unit.meaning.c_str();
  root.append_attribute("generationTool") = fmt::format("Heelstrike {}", program_version).c_str();
  root.append_attribute("variableNamingConvention") = "flat";
  if (second && content.model_exchange) {
    root.append_attribute("numberOfEventIndicators") =
        std::ranges::count(content.variables, true, &FmuVariable::is_indicator);
  }
  std::set<std::string> units;
  // FMI 2.0 and 3.0 require this order of elements.
  if (content.model_exchange) {
    add_model_exchange(version, root, unit);
  } else {
    add_co_simulation(version, root, unit, !content.pair.empty());
  }
  add_units(root, content, units);
  add_types(version, root, units);
  auto categories = root.append_child("LogCategories");
  auto category = categories.append_child("Category");
  category.append_attribute("name") = "logStatusError";
  category.append_attribute("description") = "reason why a call has failed";
  auto experiment = root.append_child("DefaultExperiment");
  experiment.append_attribute("startTime") = 0.0;
  experiment.append_attribute("stopTime") = unit.stop_time;
  experiment.append_attribute("stepSize") = unit.step_size;
  add_variables(version, root, content, units);
  add_structure(version, root, content);
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
  return text.str();
}

namespace {

/// The part of a variable name before the last dot: "ball" of "ball.fx_N".
std::string owner_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(0, dot);
}

/// Variables by terminal; only terminals with inputs can be connected.
std::map<std::string, std::vector<const FmuVariable*>> members_of(const FmuContent& content) {
  std::map<std::string, std::vector<const FmuVariable*>> members;
  if (!content.pair.empty()) {
    for (const FmuVariable& variable : content.variables) {
      if (variable.causality == Causality::input || variable.causality == Causality::output) {
        members[content.pair].push_back(&variable);
      }
    }
    return members;
  }
  for (const FmuVariable& variable : content.variables) {
    if (variable.causality == Causality::input) members[owner_of(variable.name)].push_back(&variable);
  }
  members.erase("");
  for (const FmuVariable& variable : content.variables) {
    if (variable.causality != Causality::output) continue;
    const auto owner = members.find(owner_of(variable.name));
    if (owner != members.end()) owner->second.push_back(&variable);
  }
  return members;
}

/// A square filled by the icon.
void add_icon(pugi::xml_node root) {
  auto picture = root.append_child("GraphicalRepresentation");
  for (const char* name : {"CoordinateSystem", "Icon"}) {
    auto area = picture.append_child(name);
    for (const char* corner : {"x1", "y1", "x2", "y2"}) {
      area.append_attribute(corner) = corner[1] == '1' ? -100 : 100;
    }
    if (std::string_view(name) == "CoordinateSystem") area.append_attribute("suggestedScalingFactorTo_mm") = "0.1";
  }
}

}  // namespace

std::string terminals(const FmuContent& content) {
  pugi::xml_document document;
  auto root = document.append_child("fmiTerminalsAndIcons");
  root.append_attribute("fmiVersion") = "3.0";
  add_icon(root);
  const auto members = members_of(content);
  if (!members.empty()) {
    auto list = root.append_child("Terminals");
    for (const auto& [name, variables] : members) {
      auto terminal = list.append_child("Terminal");
      terminal.append_attribute("name") = name.c_str();
      terminal.append_attribute("matchingRule") = "plug";
      terminal.append_attribute("terminalKind") = content.pair.empty() ? "heelstrike.body" : "heelstrike.contact";
      for (const FmuVariable* variable : variables) {
        auto member = terminal.append_child("TerminalMemberVariable");
        const std::string own = content.pair.empty() ? variable->name.substr(name.size() + 1) : variable->name;
        member.append_attribute("variableKind") = "signal";
        member.append_attribute("variableName") = variable->name.c_str();
        member.append_attribute("memberName") = own.c_str();
      }
    }
  }
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
  return text.str();
}

}  // namespace heelstrike::fmu
