/// Properties of the terminal: width, colours, and messages in one style.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "common/results/run_records.hpp"

namespace heelstrike {

enum class Stream { out, err };

/// Columns of the terminal of a stream; otherwise the value of the variable COLUMNS; 0 = unlimited.
[[nodiscard]] std::size_t screen_width(Stream stream);

enum class Colour { red, yellow, green, cyan };

/// The text in that colour where the stream is a terminal with colours and NO_COLOR is not set (no-color.org), else
/// unchanged.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour, Stream stream);

/// The address of a file as a link, "file:///...", which terminals and browsers open.
[[nodiscard]] std::string file_link(const std::filesystem::path& file);

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

// Progress of a run: a bar that is redrawn on a terminal, a line every few seconds in a log.

/// Writes to stderr, so that stdout remains for results.
class ProgressDisplay {
 public:
  /// @param label  name of the run, e.g. "flores"; shown first
  ProgressDisplay(std::string label, bool quiet);
  /// Removes the bar.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void show(const Progress& progress);
  /// Removes the bar so that other text can be written; the next `show` draws it again.
  void clear();

 private:
  [[nodiscard]] bool is_due(std::chrono::steady_clock::time_point now);

  std::string label_;
  bool quiet_;
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
};

/// The bar and its text in at most `width` columns: the bar is shortened first. @param width  0 = unlimited
[[nodiscard]] std::string progress_line(const std::string& label, const std::string& text, double fraction,
                                        std::size_t width);

/// "  42 %  0.840 of 2 s  12.3x real time  0:03 left"; for a stage of unknown fraction (below zero): "filling with
/// tetrahedra  0:12 so far"
[[nodiscard]] std::string progress_text(const Progress& progress, double elapsed_s);

}  // namespace heelstrike
