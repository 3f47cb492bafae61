/// Changes of a scenario's tree with their origin for messages. `with_override` (scenario.hpp) serves `--set`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "scenario/schema/document.hpp"

namespace heelstrike {

struct Catalog;

/// One "key=value" and the option of a command line by which it was given, which messages and the comment in the
/// changed text name.
struct Override {
  std::string option;  ///< "--set", "--vary"
  std::string assignment;
};
/// As `with_override` of "key=value", for any option.
[[nodiscard]] std::string with_override(std::string_view yaml, const std::string& file_name, const Override& change,
                                        const Catalog& catalog);

}  // namespace heelstrike

namespace heelstrike::config {

/// A copy for another position: without lines, maps in braces. @param note  origin of the values; empty = unchanged
[[nodiscard]] std::shared_ptr<const Node> copy_without_lines(const Node& node, const std::string& note);

/// As `with_override` of "key=value", for a dotted key and its value in a file.
/// @param where  file and line of the change, for messages about the value
/// @returns the changed YAML text. @throws Error{invalid_input}
[[nodiscard]] std::string with_change(std::string_view yaml, const std::string& file_name, const Entry& change,
                                      const std::string& where, const Catalog& catalog);

}  // namespace heelstrike::config
