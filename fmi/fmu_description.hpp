/// What modelDescription.xml says of a unit, as far as an importer for co-simulation asks
/// (https://fmi-standard.org/docs/2.0.5, https://fmi-standard.org/docs/3.0.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike::mbs {

enum class FmiVersion { fmi2, fmi3 };

/// Types of variables whose values are numbers; Booleans are 0 and 1.
enum class NumberType { float64, float32, int8, uint8, int16, uint16, int32, uint32, int64, uint64, boolean };

struct FmuVariable {
  std::string name;
  std::uint32_t reference = 0;
  std::string causality = "local";  ///< as in the file: input, output, parameter, ...
  std::string type;                 ///< as in the file: Real, Float64, Boolean, ...
  bool scalar = true;
  std::string fmu = {};  ///< empty = none is said

  /// None = its values are no numbers.
  [[nodiscard]] std::optional<NumberType> number_type() const;
  [[nodiscard]] bool is_text() const { return type == "String"; }
};

struct FmuDescription {
  FmiVersion version = FmiVersion::fmi3;
  std::string model_identifier;
  std::string token;  ///< instantiationToken, or guid in version 2
  bool can_get_and_set_state = false;
  bool can_serialize_state = false;
  bool can_vary_step = false;  ///< communication steps of different lengths
  std::vector<FmuVariable> variables;

  /// A scalar variable of that name and causality whose values are numbers.
  /// @param key  of the scenario, for messages. @throws Error{invalid_input} for an unknown name, another causality or
  /// type, an array, and a unit of measurement that is not that of the SI
  [[nodiscard]] const FmuVariable& number(const std::string& name, std::string_view causality,
                                              const std::string& key) const;
  /// The same for what changes continuously. @throws Error{invalid_input} for whole numbers and Booleans, too
  [[nodiscard]] const FmuVariable& real(const std::string& name, std::string_view causality,
                                            const std::string& key) const;
  /// A scalar parameter: a number as above, or a text. @throws Error{invalid_input} as number()
  [[nodiscard]] const FmuVariable& parameter(const std::string& name, const std::string& key) const;
  std::vector<std::string> scaled_units = {};  ///< units of measurement with a factor other than 1 or an offset
};

/// @param where  key of the scenario, for messages
/// @throws Error{invalid_input} for what is no description, another version of FMI, a unit without co-simulation and
/// one that needs an execution tool
[[nodiscard]] FmuDescription read_fmu_description(const std::string& xml, const std::string& where);

}  // namespace heelstrike::mbs
