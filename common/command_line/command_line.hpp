/// Help and error messages of the command lines of all programs, in place of those of CLI11.
#pragma once

#include <cstddef>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace heelstrike {

/// Width of help texts where no terminal states another one [columns].
inline constexpr std::size_t help_width = 80;

/// Sets the format of the help: options in their groups, lines broken between words. Subcommands that are added later
/// have it, too. In a footer, a line that begins with blanks and "heelstrike" is a command; it is continued with "\".
/// @param width  of the lines [columns]; 0 = help_width
void set_help_format(CLI::App& app, std::size_t width);

/// What is wrong with a command line, in the style of all errors: expected, found, what to do. An unknown option is
/// named before everything that may be missing, with the most similar option.
/// @param app  program whose parse failed. @param program  its name
[[nodiscard]] std::string parse_error_message(const CLI::App& app, const CLI::ParseError& error,
                                              const std::string& program);

}  // namespace heelstrike
