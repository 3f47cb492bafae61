/// All keys of a scenario file as one schema, and the reference page that is made of it.
#pragma once

#include <string>
#include <vector>

#include "scenario/catalog.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

/// The newest version of the file format that this program reads: the value of the key `heelstrike`.
inline constexpr int scenario_version = 1;

/// The whole scenario file, a `map`.
/// @param default_integrator  default of the scenario; empty = not yet known
[[nodiscard]] KeySchema scenario_schema(const Catalog& catalog, const std::string& default_integrator = {});

/// One key of the reference: a row of the page, or an answer to the question what a key means.
struct ReferenceRow {
  std::string path;                ///< dotted, NAME for names that the user chooses, [] for entries of a list
  KeySchema key;                   ///< its nested keys are rows of their own
  std::string expected;            ///< "a number > 0 [kg]"
  std::vector<std::string> types;  ///< of the section that have the key; empty = all
  std::size_t depth = 0;           ///< rows that follow with a larger depth are nested in this one

  /// Meaning with the types.
  [[nodiscard]] std::string meaning() const;
  /// "required", "`0.5`", or "-" without a default.
  [[nodiscard]] std::string default_text() const;
};

/// The key at `path` and all keys nested in it, in the order of the page.
[[nodiscard]] std::vector<ReferenceRow> reference_rows(const KeySchema& key, const std::string& path);

/// The rows that answer a word: a section or key by its dotted path, with or without NAME and with names of a scenario
/// in its place; else the keys of that name, and the keys of the types of that name. Each with all nested rows.
[[nodiscard]] std::vector<ReferenceRow> rows_for(const std::vector<ReferenceRow>& all, const std::string& word);

/// All keys as a page in Markdown: the output of `heelstrike schema`.
[[nodiscard]] std::string scenario_reference(const Catalog& catalog);

}  // namespace heelstrike::config
