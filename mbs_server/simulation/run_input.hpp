/// Input of a simulation: plain data, independent of its source.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/results/run_records.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

struct RunInput {
  Scenario scenario;
  std::vector<AssetContent> assets;       ///< files that the scenario names
  std::string run_id;                     ///< for logs
  std::string scenario_digest;            ///< sha256 of the scenario text and the files it names
  bool allow_fmus = false;                ///< permission to load the machine code of FMUs in the scenario
  double start_time = 0.0;                ///< [s] < analysis.end_time: of the initial state, for functions of time, too
  std::optional<Checkpoint> resume_from;  ///< none = from the initial state
  /// [s] wall time, from any zero; empty = the steady clock. Only checkpoints depend on it.
  std::function<double()> clock = {};
};

}  // namespace heelstrike::mbs
