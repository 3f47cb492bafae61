/// Columns of motion files that a scenario names, as functions of time.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "common/contact/contact.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike {

/// Content of a file by its name in the scenario; nullptr when it is missing. Valid while it is used.
using FileContent = std::function<const std::string*(const std::string& name)>;

/// The contents of `files`, which must outlive the result.
[[nodiscard]] FileContent content_in(std::span<const AssetContent> files);

/// The text of a file named in the scenario at `where` ("file:line: key").
/// @param field  of the error. @throws Error{invalid_input} when the file is missing
[[nodiscard]] const std::string& required_content(const FileContent& content_of, const std::string& file,
                                                  const std::string& where, const std::string& field);

/// Reads every motion file of the recordings, drivers and loads of `scenario` and sets their functions.
/// @throws Error{invalid_input} "file:line: key: ..." for a missing file or column, times that do not increase, or a
/// table that does not cover the run
void read_motion_columns(Scenario& scenario, const FileContent& content_of);

}  // namespace heelstrike
