/// The keys of a scenario file as JSON Schema (2020-12), for editors and for programs that write scenarios.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenario/scenario.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::client {

/// Kinds, ranges, choices, required and unknown keys, and defaults of the table. Constraints that depend on other
/// values (existing names, orders of an integrator) are checked by `heelstrike validate` only.
/// @param backends  parameters are checked for the `backend` of the pair; empty = any parameters
[[nodiscard]] nlohmann::json json_schema(const config::KeySchema& scenario, const BackendSchemas& backends);

}  // namespace heelstrike::client
