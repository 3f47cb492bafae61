/// Columns of motion files that a scenario names, as functions of time.
#pragma once

#include <functional>
#include <string>

#include "common/config/scenario.hpp"

namespace heelstrike {

/// Content of a file by the name that the scenario gives it; nullptr when it is not there. Valid while it is used.
using FileContent = std::function<const std::string*(const std::string& name)>;

/// Reads every motion file that recordings, drivers and loads of `scenario` name and fills in their functions.
/// @throws Error{invalid_input} "file:line: key: ..." for a file that is not there, a column that is not in it, times
///         that do not increase, or a table that does not cover the run
void read_motion_columns(Scenario& scenario, const FileContent& content_of);

}  // namespace heelstrike
