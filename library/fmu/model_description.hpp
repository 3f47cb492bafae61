/// modelDescription.xml of a unit.
#pragma once

#include <string>

#include "library/fmu/fmu_content.hpp"

namespace heelstrike::fmu {

enum class FmiVersion { v2, v3 };

struct FmuModelDescription {
  std::string name;              ///< of the scenario
  std::string model_identifier;  ///< name of the binary, an identifier of C
  std::string meaning;
  double stop_time = 0.0;       ///< [s] end of the scenario
  double step_size = 0.0;       ///< [s] interval of its rows
  bool has_derivatives = true;  ///< of outputs with respect to inputs
};

/// An identifier of C that looks like `name`.
[[nodiscard]] std::string identifier_of(const std::string& name);

/// @returns the text of the file
[[nodiscard]] std::string model_description(FmiVersion version, const FmuModelDescription& unit,
                                            const FmuContent& content);

}  // namespace heelstrike::fmu
