/// What XML from outside may look like before a parser sees it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heelstrike {

/// Elements inside each other. Readers go down by recursion; models of people have less than a hundred.
inline constexpr std::size_t max_xml_depth = 1000;

/// Goes once over the text, with constant memory, and refuses what would take a parser's stack or memory: elements
/// deeper than `max_xml_depth`, document types with declarations of their own (entities that expand), and encodings in
/// which this cannot be seen. Whether the text is XML is for the parser to say.
/// @param where  for messages: name of the file. @param field  of the error
/// @throws Error{invalid_input}
void check_xml_nesting(std::string_view text, const std::string& where, const std::string& field);

/// Number of the line, from 1, that a parser's offset is in.
[[nodiscard]] std::size_t line_of_offset(std::string_view text, std::size_t offset);

}  // namespace heelstrike
