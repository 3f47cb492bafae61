/// What the terminal can do: width, colours, and messages in one style.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace heelstrike {

enum class Stream { out, err };

/// Columns of the terminal behind a stream; for anything else the number in the variable COLUMNS; 0 = unlimited.
[[nodiscard]] std::size_t screen_width(Stream stream);

enum class Colour { red, yellow, green, cyan };

/// The text in that colour where the stream is a terminal that has them and NO_COLOR is not set (no-color.org), else as
/// it is.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour, Stream stream);

/// "heelstrike: LEVEL: text" on standard error; levels are error, warning and note.
void print_message(std::string_view level, std::string_view text);

/// How a run ended, in its colour: completed green, incomplete and cancelled yellow, all else red.
[[nodiscard]] std::string coloured_status(const std::string& status, Stream stream);

/// Warnings that differ in their numbers only are told once; the others are counted.
class RepeatedMessages {
 public:
  /// Whether it is the first of its kind.
  [[nodiscard]] bool is_first(std::string_view level, std::string_view text);
  /// Tells how many more there were of each kind. @param where  all can be read
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
