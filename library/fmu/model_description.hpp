/// modelDescription.xml of an FMU.
#pragma once

#include <string>

#include "library/fmu/fmu_content.hpp"

namespace heelstrike::fmu {

enum class FmiVersion { v2, v3 };

struct FmuModelDescription {
  std::string name;              ///< of the scenario
  std::string model_identifier;  ///< name of the binary, a C identifier
  std::string meaning;
  double stop_time = 0.0;       ///< [s] end of the scenario
  double step_size = 0.0;       ///< [s] output interval
  bool has_derivatives = true;  ///< of outputs with respect to inputs
};

/// A C identifier that resembles `name`.
[[nodiscard]] std::string identifier_of(const std::string& name);

/// @returns the text of the file
[[nodiscard]] std::string model_description(FmiVersion version, const FmuModelDescription& unit,
                                            const FmuContent& content);

// terminalsAndIcons.xml of an FMU of FMI 3.0.

/// Each body of a scenario is a terminal of its loads and its motion; the terminal of a contact FMU has the motion of
/// the partner and the wrench on the main body. Every member is a signal named after its variable.
/// @returns the text of the file
[[nodiscard]] std::string terminals(const FmuContent& content);

}  // namespace heelstrike::fmu
