/// Changes of a scenario's tree that say in messages where they come from. `with_override` (scenario.hpp) is the one
/// for the command line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "scenario/schema/document.hpp"

namespace heelstrike {
struct Catalog;
}

namespace heelstrike::config {

/// A copy for another place: without lines, maps in braces. @param note  where the values come from; empty = as before
[[nodiscard]] std::shared_ptr<const Node> copy_without_lines(const Node& node, const std::string& note);

/// What `with_override` does with "key=value", for a dotted key and its value as they stand in a file.
/// @param where  file and line of the change, which messages about the value name
/// @returns the changed YAML text. @throws Error{invalid_input}
[[nodiscard]] std::string with_change(std::string_view yaml, const std::string& file_name, const Entry& change,
                                      const std::string& where, const Catalog& catalog);

}  // namespace heelstrike::config
