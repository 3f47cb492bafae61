/// A scenario as it shall run: text with all overrides applied, checked, with the files it names.
#pragma once

#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "common/files/read_file.hpp"
#include "scenario/scenario.hpp"
#include "common/contact/contact.hpp"

namespace heelstrike {

struct RunRequest {
  std::string yaml;       ///< overrides applied, what it imports in place
  std::string file_name;  ///< for messages
  Scenario scenario;      ///< the same, parsed
  std::vector<AssetContent> files;
  std::string resume_from;                ///< bytes of a checkpoint; empty = from the start
  std::vector<std::string> not_imported;  ///< of a model that the scenario imports: what is not here, or in another way
  std::vector<std::string> notes;  ///< what the user should know, e.g. parameters dropped with a change of back-end
};

/// Changes to a scenario from the command line.
struct Overrides {
  std::string backend;                   ///< for every pair; empty = as the scenario says
  std::vector<std::string> assignments;  ///< "key=value", applied in order, those of the section `import` first
  /// A comparison changes the back-end last, so that a parameter which only some of the compared back-ends know may be
  /// set and is left out, with a note, for the others. A single run changes it first, and an unknown parameter is a
  /// mistake.
  bool backend_last = false;
  std::string text = {};                          ///< of the scenario, in place of its file's; empty = the file's
  std::map<std::string, std::string> files = {};  ///< contents of files that it names, in place of those on the disk
};

/// Reads, changes and checks a scenario and reads the files it names, relative to its folder; `${NAME}` in their names
/// stands for a variable of the environment of this process. A scenario that is not UTF-8 is read as Latin-1, with a
/// note.
/// @throws Error{invalid_input} for the mistakes in it or a missing file, and as read_file
[[nodiscard]] RunRequest load_request(const std::filesystem::path& scenario, const Overrides& overrides,
                                      const BackendSchemas& backends, const std::stop_token& stop = {});
/// The same for a scenario as it stands in a run folder. @param origin  its file when the run began: what it is called
/// @param inputs  folder that the names of its files start from
[[nodiscard]] RunRequest reload_request(const std::filesystem::path& scenario, const std::filesystem::path& origin,
                                            const std::filesystem::path& inputs, const BackendSchemas& backends,
                                            const std::stop_token& stop = {});

/// Parses the text of a request whose files are there already. @throws Error{invalid_input} for the mistakes in it
void parse_request(RunRequest& request, const BackendSchemas& backends);

/// sha256 of the files of a request, by the names that the scenario uses: for RunOrigin.
[[nodiscard]] std::map<std::string, std::string> file_digests(const RunRequest& request);
/// @throws Error{invalid_input} naming the files whose content is not the one of `digests`
void check_unchanged(const RunRequest& request, const std::map<std::string, std::string>& digests);

/// `${NAME}` in a file name replaced by that variable of the environment. @param where  scenario, for messages
/// @throws Error{invalid_input} for a variable that is not set
[[nodiscard]] std::string expand_variables(const std::string& name, const std::string& where);

/// Scenario and back-ends, as the folder of a run is called: "foot-fem_condensed+hooke", "pendulum-no-contact".
[[nodiscard]] std::string run_name(const Scenario& scenario, char separator = '-');

}  // namespace heelstrike
