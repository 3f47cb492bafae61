/// Converts the scenario text and files of a client to the input of an analysis; the same for the service and for runs
/// without servers.
#pragma once

#include <string>
#include <vector>

#include "mbs_server/analysis/run.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// Parses and checks the scenario, and replaces the names of its mesh files by the digests of their contents.
/// `scenario_digest` is the sha256 over the text and, in order, name and content digest of every file.
/// @param yaml       overrides applied
/// @param file_name  for messages
/// @param files      their digests are computed here
/// @throws Error{invalid_input} as parse_scenario
[[nodiscard]] RunInput make_run_input(const std::string& yaml, const std::string& file_name,
                                      std::vector<AssetContent> files, const BackendSchemas& backends);

}  // namespace heelstrike::mbs
