/// Check of the tree of a scenario file against the tables of its keys (config::KeySchema). Keys of sections with
/// several types come from the catalog (scenario/catalog.hpp).
#pragma once

#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::config {

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

/// Checks `node` against `schema` and returns it with defaults filled in.
/// @param path      dotted key of `node`, empty for the whole file
/// @param issues  receives errors below `node`, each as "file:line: dotted.key: expected ..., found ...; remedy";
/// invalid keys are omitted from the result, except user-defined names
/// @throws Issue for `node` itself
[[nodiscard]] std::shared_ptr<const Node> checked(const Document& document, const Node& node, const KeySchema& schema,
                                                  const std::string& path, Issues& issues);

/// The same for a map of one type of a variant; messages about keys of other types name these types.
[[nodiscard]] std::shared_ptr<const Node> checked_type(const Document& document, const Node& node,
                                                       const KeySchema& type, const KeySchema& variant,
                                                       const std::string& path, Issues& issues);

/// Position for messages: "file:line", or "--set key=value" for a value from the command line.
[[nodiscard]] std::string location(const Document& document, const Node& node);

/// Throws "location: path: expected ..., found ...; advice".
[[noreturn]] void reject(const Document& document, const Node& node, const std::string& path,
                         const std::string& expected, const std::string& found, const std::string& advice);

/// A plain scalar as a number; false for anything else. `.inf` and `.nan` are numbers, which ranges then reject.
[[nodiscard]] bool read_number(const Node& node, double& value);

/// Advice for a scalar that is not a number, e.g. to remove a unit: "1 kg".
[[nodiscard]] std::string number_advice(const Node& node, const std::string& unit);

}  // namespace heelstrike::config
