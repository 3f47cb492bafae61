/// The keys of a scenario file as data: one table feeds validation, defaults, messages, `heelstrike schema` and
/// docs/reference/scenario.md. Keys of sections with several types come from the catalog (scenario/catalog.hpp).
#pragma once

#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::config {

enum class KeyKind {
  number,     ///< finite, in `unit`, in `range`
  integer,    ///< whole number in `range`
  text,       ///< one of `choices` if not empty
  flag,       ///< true or false
  numbers,    ///< list of finite numbers in `range`, count in `sizes` (empty = any)
  list,       ///< list; `keys[0]` describes every entry
  map,        ///< the keys in `keys`
  named,      ///< map of entries with user-defined names; each is a map with the keys in `keys`
  one_of,     ///< map with exactly one of `keys`
  variant,    ///< map of one of several types: keys[0] selects it, the others are the maps of the types by name
  parameters  ///< map of parameters of a back-end; checked against the back-end's own schema
};

/// Role of a value beyond its kind.
enum class KeyRole {
  plain,
  direction,  ///< three numbers of nonzero norm, normalised when read
  rotation,   ///< unit quaternion [w, x, y, z]
  file,       ///< text: a file sent with the scenario, relative to it
  asset       ///< text: a file in the contact server's asset folder
};

/// One key. Every member has an initializer, so that tables may omit members.
struct KeySchema {
  std::string name = {};
  KeyKind kind = KeyKind::map;
  std::string unit = "-";
  std::string meaning = {};
  bool required = false;
  bool opt_in = false;        ///< of a map whose keys all have defaults: its absence has a meaning
  std::string fallback = {};  ///< default value as YAML; empty = none
  Range range = {};
  std::vector<std::size_t> sizes = {};
  std::vector<std::string> choices = {};
  std::vector<KeySchema> keys = {};
  KeyRole role = KeyRole::plain;
  /// Keys of different forms exclude each other, and required keys are required in their form only. The form used is
  /// that of the first such key given, or else the first in the table. Empty = any form.
  std::string form = {};
};

/// Adds one type to a variant. @param shared, own  its keys, after the selecting one
void add_type(KeySchema& variant, const std::string& name, const std::string& meaning,
              const std::vector<KeySchema>& shared, const std::vector<KeySchema>& own);
/// The type of a map. @returns nullptr if the map does not define it
[[nodiscard]] const KeySchema* chosen_type(const KeySchema& variant, const Node& map);
/// A key and the types of a variant that define it identically.
struct TypedKey {
  KeySchema key;
  std::vector<std::string> types;
};
[[nodiscard]] std::vector<TypedKey> keys_by_type(const KeySchema& variant);
/// All possible keys of a map, a named map or a variant, each once.
[[nodiscard]] std::vector<KeySchema> keys_of(const KeySchema& schema);

/// "a number > 0 [kg]", "a list of 3 or 6 numbers [kg m^2]": the second half of "expected ...".
[[nodiscard]] std::string expectation(const KeySchema& key);

class Mistakes;

/// Checks `node` against `schema` and returns it with defaults filled in.
/// @param path      dotted key of `node`, empty for the whole file
/// @param mistakes  receives errors below `node`, each as "file:line: dotted.key: expected ..., found ...; remedy";
/// invalid keys are omitted from the result, except user-defined names
/// @throws Mistake for `node` itself
[[nodiscard]] std::shared_ptr<const Node> checked(const Document& document, const Node& node, const KeySchema& schema,
                                                  const std::string& path, Mistakes& mistakes);

/// Position for messages: "file:line", or "--set key=value" for a value from the command line.
[[nodiscard]] std::string location(const Document& document, const Node& node);

/// Throws "location: path: expected ..., found ...; advice".
[[noreturn]] void refuse(const Document& document, const Node& node, const std::string& path,
                         const std::string& expected, const std::string& found, const std::string& advice);

/// A plain scalar as a number; false for anything else. `.inf` and `.nan` are numbers, which ranges then reject.
[[nodiscard]] bool read_number(const Node& node, double& value);

/// Advice for a scalar that is not a number, e.g. to remove a unit: "1 kg".
[[nodiscard]] std::string number_advice(const Node& node, const std::string& unit);

}  // namespace heelstrike::config
