/// A run as its folder shows it while it is being written: only new bytes of timeseries.csv are read each time.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace heelstrike::client {

class LiveView {
 public:
  /// @throws Error{file} when `folder` is not a run folder
  explicit LiveView(std::filesystem::path folder);

  /// Takes in what was written since the last call. Half a row at the end waits for its other half. @throws Error{file}
  void read();
  /// The run is complete, or said why it is not.
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] std::uint64_t rows() const { return n_rows_; }
  /// Lines for a terminal: progress, pace, one small curve per force that varies.
  [[nodiscard]] std::string text() const;

 private:
  struct Trace {
    std::size_t column = 0;
    std::string name;
    std::vector<double> samples;  ///< largest values of blocks of rows, at most `most_samples`
    std::uint64_t rows_per_sample = 1;
    double pending = 0.0;
    std::uint64_t n_pending = 0;
    double last = 0.0;
  };

  void take_header(const std::string& line);
  void take_row(const std::string& line);
  void add(Trace& trace, double value);

  std::filesystem::path folder_;
  double end_time_ = 0.0;     ///< [s] of the scenario; 0 = not known
  std::uint64_t offset_ = 0;  ///< bytes taken
  std::string rest_;          ///< torn row
  bool has_header_ = false;
  std::uint64_t n_rows_ = 0;
  double time_ = 0.0;
  double previous_time_ = 0.0;
  std::vector<Trace> traces_;
  bool over_ = false;
  std::string outcome_;
  std::chrono::steady_clock::time_point first_look_;
  double time_at_first_look_ = -1.0;
};

/// A curve of block characters, one per value, between the smallest and the largest of them.
[[nodiscard]] std::string spark_line(const std::vector<double>& values);

}  // namespace heelstrike::client
