/// Columns of motion files that a scenario names, as functions of time.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "scenario/scenario.hpp"
#include "common/contact/contact.hpp"

namespace heelstrike {

/// Content of a file by the name that the scenario gives it; nullptr when it is not there. Valid while it is used.
using FileContent = std::function<const std::string*(const std::string& name)>;

/// The contents of `files`, which must outlive the answer.
[[nodiscard]] FileContent content_in(std::span<const AssetContent> files);

/// The text of a file that the scenario names at `where` ("file:line: key").
/// @param field  of the error. @throws Error{invalid_input} when the file is not there
[[nodiscard]] const std::string& required_content(const FileContent& content_of, const std::string& file,
                                                  const std::string& where, const std::string& field);

/// Reads every motion file that recordings, drivers and loads of `scenario` name and fills in their functions.
/// @throws Error{invalid_input} "file:line: key: ..." for a file that is not there, a column that is not in it, times
///         that do not increase, or a table that does not cover the run
void read_motion_columns(Scenario& scenario, const FileContent& content_of);

}  // namespace heelstrike
