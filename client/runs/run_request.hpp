/// A scenario as it shall run: text with all overrides applied, checked, with the files it names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/config/scenario.hpp"

namespace heelstrike::client {

/// A file that the scenario names, by content.
struct NamedFile {
  std::string name;     ///< as the scenario writes it
  std::string content;  ///< bytes
};

struct RunRequest {
  std::string yaml;       ///< overrides applied
  std::string file_name;  ///< for messages
  Scenario scenario;      ///< the same, parsed
  std::vector<NamedFile> files;
  std::vector<std::string> notes;  ///< what the user should know, e.g. parameters dropped with a change of back-end
};

/// Changes to a scenario from the command line.
struct Overrides {
  std::string backend;                   ///< for every pair; empty = as the scenario says
  std::vector<std::string> assignments;  ///< "key=value", applied in order
  /// A comparison changes the back-end last, so that a parameter which only some of the compared back-ends know may be
  /// set and is left out, with a note, for the others. A single run changes it first, and an unknown parameter is a
  /// mistake.
  bool backend_last = false;
};

/// Reads, changes and checks a scenario and reads the files it names, relative to its folder; `${NAME}` in their names
/// stands for a variable of the environment of this process.
/// @throws Error{invalid_input} for a mistake in it or a missing file, Error{file} when the file is there but
/// unreadable
[[nodiscard]] RunRequest load_request(const std::filesystem::path& scenario, const Overrides& overrides,
                                      const BackendSchemas& backends);

/// Content of a file. @throws as load_request
[[nodiscard]] std::string read_file(const std::filesystem::path& path, const std::string& what);

/// `${NAME}` in a file name replaced by that variable of the environment. @param where  scenario, for messages
/// @throws Error{invalid_input} for a variable that is not set
[[nodiscard]] std::string expand_variables(const std::string& name, const std::string& where);

/// Names of the back-ends of all pairs, each once, joined by '+'.
[[nodiscard]] std::string backend_label(const Scenario& scenario);

}  // namespace heelstrike::client
