/// Converts the scenario text and files of a client to the input of an analysis; the same for the service and for runs
/// without servers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mbs_server/analysis/run.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// The input of a scenario that has been read with its recordings (read_motion_columns): replaces the names of its mesh
/// files by the digests of their contents.
/// `scenario_digest` is the sha256 over the text and, in order, name and content digest of every file.
/// @param yaml   text of the scenario
/// @param files  missing digests are computed here
/// @throws Error{invalid_input} for a table of points that is not readable
[[nodiscard]] RunInput make_run_input(Scenario scenario, std::string_view yaml, std::vector<AssetContent> files,
                                      const BackendSchemas& backends);

/// The same from the text of a client: parses and checks it first.
/// @param yaml       overrides applied
/// @param file_name  for messages
/// @throws Error{invalid_input} as parse_scenario
[[nodiscard]] RunInput make_run_input(const std::string& yaml, const std::string& file_name,
                                      std::vector<AssetContent> files, const BackendSchemas& backends);

}  // namespace heelstrike::mbs
