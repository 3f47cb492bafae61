#include "fmi/fmu_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>

#include "common/errors/error.hpp"
#include "common/text/markup.hpp"

namespace heelstrike::mbs {
namespace {

[[noreturn]] void throw_fmu_error(const std::string& where, const std::string& text) {
  throw input_error(where, fmt::format("{}: modelDescription.xml: {}", where, text));
}

/// Units of measurement of declared types; variables of the type inherit them.
std::map<std::string, std::string> declared_units(const pugi::xml_node& root) {
  std::map<std::string, std::string> units;
  for (const pugi::xml_node& type : root.child("TypeDefinitions")) {
    const pugi::xml_node holder = type.child("Real") ? type.child("Real") : type;
    units[type.attribute("name").value()] = holder.attribute("unit").value();
  }
  return units;
}

std::string unit_of(const pugi::xml_node& node, const std::map<std::string, std::string>& declared) {
  if (const auto unit = node.attribute("unit")) return unit.value();
  const auto type = declared.find(node.attribute("declaredType").value());
  return type == declared.end() ? std::string() : type->second;
}

void read_variables(const pugi::xml_node& root, FmuDescription& description) {
  const auto declared = declared_units(root);
  for (const pugi::xml_node& node : root.child("ModelVariables")) {
    if (node.type() != pugi::node_element) continue;
    // FMI 2.0 has the type as a child element, FMI 3 as the name of the element.
    const pugi::xml_node typed =
        description.version == FmiVersion::fmi2 ? node.find_child([](const pugi::xml_node& child) {
          return child.type() == pugi::node_element && std::string_view(child.name()) != "Annotations";
        })
                                                : node;
    description.variables.push_back({.name = node.attribute("name").value(),
                                     .reference = node.attribute("valueReference").as_uint(),
                                     .causality = node.attribute("causality").as_string("local"),
                                     .type = typed.name(),
                                     .scalar = !node.child("Dimension"),
                                     .unit = unit_of(typed, declared)});
  }
  for (const pugi::xml_node& unit : root.child("UnitDefinitions")) {
    const pugi::xml_node base = unit.child("BaseUnit");
    if (base && (base.attribute("factor").as_double(1.0) != 1.0 || base.attribute("offset").as_double(0.0) != 0.0)) {
      description.scaled_units.emplace_back(unit.attribute("name").value());
    }
  }
}

}  // namespace

FmuDescription read_fmu_description(const std::string& xml, const std::string& where) {
  check_xml_nesting(xml, where, "file");
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(xml.data(), xml.size());
  if (!result) {
    throw_fmu_error(where, fmt::format("expected XML, found an error at byte {} ({}); export the FMU again",
                                       result.offset, result.description()));
  }
  const pugi::xml_node root = document.child("fmiModelDescription");
  if (!root) throw_fmu_error(where, "expected the element fmiModelDescription, found another; export the FMU again");
  FmuDescription description;
  const std::string version = root.attribute("fmiVersion").value();
  if (version == "2.0") {
    description.version = FmiVersion::fmi2;
  } else if (!version.starts_with("3.")) {
    throw_fmu_error(
        where, fmt::format("expected FMI 2.0 or 3, found fmiVersion '{}'; export the FMU for one of them", version));
  }
  const bool fmi2 = description.version == FmiVersion::fmi2;
  const pugi::xml_node mode = root.child("CoSimulation");
  if (!mode) {
    throw_fmu_error(where, fmt::format("expected an FMU for co-simulation, found {}; export it with its solver",
                                       root.child("ModelExchange") ? "one for model exchange only" : "none"));
  }
  if (mode.attribute("needsExecutionTool").as_bool()) {
    throw_fmu_error(where, "expected a stand-alone FMU, found needsExecutionTool; export it without its tool");
  }
  description.model_identifier = mode.attribute("modelIdentifier").value();
  const bool plain_name =
      !description.model_identifier.empty() && description.model_identifier.find('/') == std::string::npos;
  if (!plain_name) {
    throw_fmu_error(where, fmt::format("expected a modelIdentifier that names its binary, found '{}'",
                                       description.model_identifier));
  }
  description.token = root.attribute(fmi2 ? "guid" : "instantiationToken").value();
  description.can_get_and_set_state = mode.attribute(fmi2 ? "canGetAndSetFMUstate" : "canGetAndSetFMUState").as_bool();
  description.can_serialize_state = mode.attribute(fmi2 ? "canSerializeFMUstate" : "canSerializeFMUState").as_bool();
  description.can_vary_step = mode.attribute("canHandleVariableCommunicationStepSize").as_bool();
  read_variables(root, description);
  return description;
}

namespace {

const FmuVariable& find_variable(const std::vector<FmuVariable>& variables, const std::string& name,
                                 std::string_view expected_type, const std::string& key) {
  const auto found = std::ranges::find(variables, name, &FmuVariable::name);
  const bool known = found != variables.end();
  if (!known || found->causality != expected_type) {
    std::vector<std::string> names;
    constexpr std::size_t shown = 20;
    for (const auto& variable : variables) {
      if (variable.causality == expected_type && names.size() < shown) names.push_back(variable.name);
    }
    throw input_error(
        key, fmt::format("{}: expected a variable of causality '{}', found '{}', which {}; the FMU has {}", key,
                         expected_type, name, known ? "is of causality '" + found->causality + "'" : "it does not have",
                         names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return *found;
}

[[noreturn]] void throw_unknown_type(const FmuVariable& found, const char* expected, const char* advice,
                                     const std::string& key) {
  throw input_error(key, fmt::format("{}: expected a scalar whose values are {}, found '{}' of type {}{}; {}", key,
                                     expected, found.name, found.type, found.scalar ? "" : " with dimensions", advice));
}

}  // namespace

const FmuVariable& FmuDescription::number(const std::string& name, std::string_view expected_type,
                                          const std::string& key) const {
  const FmuVariable& found = find_variable(variables, name, expected_type, key);
  if (!found.number_type() || !found.scalar) {
    throw_unknown_type(found, "numbers or Booleans", "only these can be connected to a mechanism", key);
  }
  if (std::ranges::find(scaled_units, found.unit) != scaled_units.end()) {
    throw input_error(key, fmt::format("{}: expected a variable in SI units, found '{}' in '{}'; convert it inside "
                                       "the FMU",
                                       key, name, found.unit));
  }
  return found;
}

const FmuVariable& FmuDescription::parameter(const std::string& name, const std::string& key) const {
  const FmuVariable& found = find_variable(variables, name, "parameter", key);
  if (found.is_text() && found.scalar) return found;
  if (found.number_type() && found.scalar) return number(name, "parameter", key);
  throw_unknown_type(found, "numbers, Booleans or strings", "set it inside the FMU", key);
}

const FmuVariable& FmuDescription::real(const std::string& name, std::string_view expected_type,
                                        const std::string& key) const {
  const FmuVariable& found = number(name, expected_type, key);
  const auto type = found.number_type();
  if (type == NumberType::float64 || type == NumberType::float32) return found;
  throw input_error(key, fmt::format("{}: expected a variable that changes continuously, found '{}' of type {}; a "
                                     "coordinate and its rate are real numbers",
                                     key, name, found.type));
}

std::optional<NumberType> FmuVariable::number_type() const {
  static const std::map<std::string, NumberType, std::less<>> types = {
      {"Real", NumberType::float64},    {"Integer", NumberType::int32},  // FMI 2.0
      {"Float64", NumberType::float64}, {"Float32", NumberType::float32}, {"Int8", NumberType::int8},
      {"UInt8", NumberType::uint8},     {"Int16", NumberType::int16},     {"UInt16", NumberType::uint16},
      {"Int32", NumberType::int32},     {"UInt32", NumberType::uint32},   {"Int64", NumberType::int64},
      {"UInt64", NumberType::uint64},   {"Boolean", NumberType::boolean}};
  const auto found = types.find(type);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace heelstrike::mbs
