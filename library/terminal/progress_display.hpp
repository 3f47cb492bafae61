/// Progress of a run: a bar that is redrawn on a terminal, a line every few seconds in a log.
#pragma once

#include <chrono>
#include <string>

#include "common/results/run_records.hpp"

namespace heelstrike {

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
