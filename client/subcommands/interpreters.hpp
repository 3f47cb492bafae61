/// Interpreters of Python on this machine, for the Python package.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heelstrike::client {

struct Interpreter {
  std::filesystem::path file;
  std::string version;     ///< "3.11.2"
  std::string numpy;       ///< its version; empty = not installed
  std::string heelstrike;  ///< version and place of the package that `import heelstrike` finds; empty = none
  std::string problem;     ///< reason for a missing package; empty when it is there
};

/// `python3` of the PATH and of /usr/bin, each once.
[[nodiscard]] std::vector<std::filesystem::path> find_interpreters();

/// Runs an interpreter to find that. @throws Error{file} if it cannot be started or does not answer
[[nodiscard]] Interpreter examine_interpreter(const std::filesystem::path& file);

/// Folder for PYTHONPATH with the Python package of this installation, for this program as built and as installed;
/// empty if there is none.
[[nodiscard]] std::filesystem::path python_package_folder();

}  // namespace heelstrike::client
