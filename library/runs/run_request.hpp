/// A scenario ready to run: text with all overrides applied, checked, with the files that it names.
#pragma once

#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/files/read_file.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike {

struct RunRequest {
  std::string yaml;                       ///< overrides applied, imports inserted
  std::string file_name;                  ///< for messages
  Scenario scenario;                      ///< of the text, with its recordings
  bool text_changed = false;              ///< the text has changes that `scenario` does not have: a run reads it again
  std::vector<AssetContent> files;        ///< with digests
  std::string resume_from;                ///< bytes of a checkpoint; empty = from the start
  std::vector<std::string> not_imported;  ///< skipped or approximated elements of an imported model
  std::vector<std::string> notes;         ///< messages for the user, e.g. parameters omitted with a change of back-end

  /// Changes the text alone, e.g. for the runs of a study: `scenario` stays that of the text before.
  void change_text(std::string text) {
    yaml = std::move(text);
    text_changed = true;
  }
};

/// Changes to a scenario from the command line.
struct Overrides {
  std::string backend;                   ///< for every pair; empty = that of the scenario
  std::vector<std::string> assignments;  ///< "key=value", applied in order, after those of the section `import`
  /// A comparison changes the back-end last, so that a parameter of only some of the compared back-ends may be set and
  /// is omitted, with a note, for the others. A single run changes it first, and an unknown parameter is an error.
  bool backend_last = false;
  std::string text = {};                          ///< scenario text, used instead of the file; empty = that of the file
  std::map<std::string, std::string> files = {};  ///< contents of named files, used instead of those on the disk
  std::vector<std::string> variations = {};       ///< likewise assignments, by `--vary` of a sweep; applied after them
};

/// Reads, changes and checks a scenario and reads the files that it names, relative to its folder; `${NAME}` in their
/// names is an environment variable of this process. A scenario that is not UTF-8 is read as Latin-1, with a note.
/// @throws Error{invalid_input} for its errors or a missing file, and as read_file
[[nodiscard]] RunRequest load_request(const std::filesystem::path& scenario, const Overrides& overrides,
                                      const BackendSchemas& backends, const std::stop_token& stop = {});
/// The same for the scenario in a run folder. @param origin  its file when the run began, for messages
/// @param inputs  folder to which the names of its files are relative
[[nodiscard]] RunRequest reload_request(const std::filesystem::path& scenario, const std::filesystem::path& origin,
                                        const std::filesystem::path& inputs, const BackendSchemas& backends,
                                        const std::stop_token& stop = {});

/// Parses the text of a request whose files have been received, and computes their digests. @throws
/// Error{invalid_input} for its errors
void parse_request(RunRequest& request, const BackendSchemas& backends);

/// SHA-256 of the files of a request, by their names in the scenario: for RunOrigin.
[[nodiscard]] std::map<std::string, std::string> file_digests(const RunRequest& request);
/// @throws Error{invalid_input} naming the files whose content differs from `digests`
void check_unchanged(const RunRequest& request, const std::map<std::string, std::string>& digests);

/// Replaces `${NAME}` in a file name by that environment variable. @param where  scenario, for messages
/// @throws Error{invalid_input} for a variable that is not set
[[nodiscard]] std::string expand_variables(const std::string& name, const std::string& where);

/// Scenario and back-ends, for the name of a run folder: "foot-fem_condensed+hooke", "pendulum-no-contact".
[[nodiscard]] std::string run_name(const Scenario& scenario, char separator = '-');

}  // namespace heelstrike
