/// Text of HTML and XML: escaping, Base64, and the check of XML from outside before it is parsed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heelstrike {

/// For content and quoted attributes: & < > " ' as entities.
[[nodiscard]] std::string escaped(std::string_view text);

/// Decodes at most `n` bytes from the start of `text`. White space is skipped; another stream may follow padding, as
/// VTK writes header and data in sequence. Stops at the first other character.
[[nodiscard]] std::string decode_base64(std::string_view text, std::size_t n);

[[nodiscard]] std::string encode_base64(std::string_view bytes);

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

/// XML of what TinyXML also reads, and with it MuJoCo and ROS: attributes without a blank between them get one, and
/// declarations that are neither comments nor a document type become blanks. Lines keep their numbers.
[[nodiscard]] std::string strict_xml(std::string_view text);

}  // namespace heelstrike
