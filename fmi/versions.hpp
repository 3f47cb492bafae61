/// The two versions of FMI that units come in.
#pragma once

#include <memory>
#include <string>

#include "fmi/foreign_unit.hpp"

namespace heelstrike::mbs {

/// Loads and instantiates a unit of FMI 2.0, or 3. @throws as open_unit()
[[nodiscard]] std::unique_ptr<ForeignUnit> make_unit_2(UnitParts parts, const std::string& name);
[[nodiscard]] std::unique_ptr<ForeignUnit> make_unit_3(UnitParts parts, const std::string& name);

}  // namespace heelstrike::mbs
