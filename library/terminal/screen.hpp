/// Properties of the terminal: width, colours, and messages in one style.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace heelstrike {

enum class Stream { out, err };

/// Columns of the terminal of a stream; otherwise the value of the variable COLUMNS; 0 = unlimited.
[[nodiscard]] std::size_t screen_width(Stream stream);

enum class Colour { red, yellow, green, cyan };

/// The text in that colour where the stream is a terminal with colours and NO_COLOR is not set (no-color.org), else
/// unchanged.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour, Stream stream);

/// "heelstrike: LEVEL: text" on standard error; levels are error, warning and note.
void print_message(std::string_view level, std::string_view text);

/// Status of a run, coloured: completed green, incomplete and cancelled yellow, all else red.
[[nodiscard]] std::string coloured_status(const std::string& status, Stream stream);

/// Prints the first of several warnings that differ only in their numbers, and counts the others.
class RepeatedMessages {
 public:
  /// True for the first message of its kind.
  [[nodiscard]] bool is_first(std::string_view level, std::string_view text);
  /// Prints the number of further messages of each kind. @param where  file with all messages
  void print_repeat_counts(std::string_view where) const;

 private:
  struct Kind {
    std::string level;
    std::string first;
    std::size_t n = 0;
  };
  std::map<std::string, Kind> kinds_;
};

}  // namespace heelstrike
