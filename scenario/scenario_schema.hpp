/// All keys of a scenario file as one schema, and the reference page that is made of it.
#pragma once

#include <string>

#include "scenario/catalog.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

/// The newest version of the file format that this program reads: the value of the key `heelstrike`.
inline constexpr int scenario_version = 1;

/// The whole scenario file, a `map`.
/// @param default_integrator  default of the scenario; empty = not yet known
[[nodiscard]] KeySchema scenario_schema(const Catalog& catalog, const std::string& default_integrator = {});

/// All keys as a page in Markdown: the output of `heelstrike schema`.
[[nodiscard]] std::string scenario_reference(const Catalog& catalog);

}  // namespace heelstrike::config
