/// Content of modelDescription.xml that an importer for co-simulation needs
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
  std::string unit = {};  ///< empty = none declared

  /// None = the values are not numeric.
  [[nodiscard]] std::optional<NumberType> number_type() const;
  [[nodiscard]] bool is_text() const { return type == "String"; }
};

struct FmuDescription {
  FmiVersion version = FmiVersion::fmi3;
  std::string model_identifier;
  std::string token;  ///< instantiationToken, or guid in FMI 2.0
  bool can_get_and_set_state = false;
  bool can_serialize_state = false;
  bool can_vary_step = false;  ///< communication steps of different lengths
  std::vector<FmuVariable> variables;

  /// The scalar numeric variable of that name and causality.
  /// @param key  of the scenario, for messages. @throws Error{invalid_input} for an unknown name, another causality or
  /// type, an array, or a unit of measurement outside the SI
  [[nodiscard]] const FmuVariable& number(const std::string& name, std::string_view causality,
                                          const std::string& key) const;
  /// As number(), for continuous variables. @throws Error{invalid_input} also for integers and Booleans
  [[nodiscard]] const FmuVariable& real(const std::string& name, std::string_view causality,
                                        const std::string& key) const;
  /// A scalar parameter: a number as above, or a string. @throws Error{invalid_input} as number()
  [[nodiscard]] const FmuVariable& parameter(const std::string& name, const std::string& key) const;
  std::vector<std::string> scaled_units = {};  ///< units of measurement with a factor other than 1 or an offset
};

/// @param where  key of the scenario, for messages
/// @throws Error{invalid_input} if the text is no model description, has another FMI version, lacks co-simulation or
/// needs an execution tool
[[nodiscard]] FmuDescription read_fmu_description(const std::string& xml, const std::string& where);

}  // namespace heelstrike::mbs
