/// terminalsAndIcons.xml of an FMU of FMI 3.0.
#pragma once

#include <string>

#include "library/fmu/fmu_content.hpp"

namespace heelstrike::fmu {

/// Each body of a scenario is a terminal of its loads and its motion; the terminal of a contact FMU has the motion of
/// the partner and the wrench on the main body. Every member is a signal named after its variable.
/// @returns the text of the file
[[nodiscard]] std::string terminals(const FmuContent& content);

}  // namespace heelstrike::fmu
