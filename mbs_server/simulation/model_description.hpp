/// Builds the model of a scenario to describe it.
#pragma once

#include <stop_token>

#include "common/results/run_records.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// Builds and assembles the model as a run does, without its contact.
/// @throws Error{invalid_input} as build_model() and assemble()
[[nodiscard]] ModelDescription describe_model(const Scenario& scenario, const std::stop_token& stop = {});

}  // namespace heelstrike::mbs
