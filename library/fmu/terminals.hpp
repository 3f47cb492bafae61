/// terminalsAndIcons.xml of a unit of FMI 3.0.
#pragma once

#include <string>

#include "library/fmu/fmu_content.hpp"

namespace heelstrike::fmu {

/// Each body of a scenario as a terminal that joins what acts on it and how it moves; of a contact alone, the motion of
/// the partner with the wrench on the main body. Every member is a signal by the name of its variable.
/// @returns the text of the file
[[nodiscard]] std::string terminals(const FmuContent& content);

}  // namespace heelstrike::fmu
