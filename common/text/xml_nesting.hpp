/// Check of XML from outside before it is parsed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heelstrike {

/// Nested elements. Readers are recursive; models of people have fewer than a hundred levels.
inline constexpr std::size_t max_xml_depth = 1000;

/// Scans the text once, with constant memory, and rejects input that would exhaust a parser's stack or memory: elements
/// deeper than `max_xml_depth`, document types with declarations (entities that expand), and encodings in which these
/// cannot be detected. The parser checks whether the text is XML.
/// @param where  name of the file, for messages. @param field  of the error
/// @throws Error{invalid_input}
void check_xml_nesting(std::string_view text, const std::string& where, const std::string& field);

/// Line number, from 1, of a parser's offset.
[[nodiscard]] std::size_t line_of_offset(std::string_view text, std::size_t offset);

}  // namespace heelstrike
