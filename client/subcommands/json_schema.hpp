/// The keys of a scenario file as JSON Schema (2020-12), for editors and for programs that write scenarios.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenario/scenario.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::client {

/// What a JSON Schema can say of the table: kinds, ranges, choices, required and unknown keys, defaults. What depends
/// on other values (names that must exist, orders of an integrator) only `heelstrike validate` knows.
/// @param backends  their parameters are checked by the pair's `backend`; empty = any parameters
[[nodiscard]] nlohmann::json json_schema(const config::KeySchema& scenario, const BackendSchemas& backends);

}  // namespace heelstrike::client
