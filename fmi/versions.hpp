/// The two supported FMI versions.
#pragma once

#include <memory>
#include <string>

#include "fmi/imported_fmu.hpp"

namespace heelstrike::mbs {

/// Loads and instantiates an FMU of FMI 2.0 or 3. @throws as load_fmu()
[[nodiscard]] std::unique_ptr<ImportedFmu> make_fmi2_fmu(FmuParts parts, const std::string& name);
[[nodiscard]] std::unique_ptr<ImportedFmu> make_fmi3_fmu(FmuParts parts, const std::string& name);

}  // namespace heelstrike::mbs
