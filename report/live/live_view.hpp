/// A run read from its folder while it is written: each call reads only the new bytes of timeseries.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "report/live/live_run.hpp"

namespace heelstrike {

/// One thread at a time may call read(); other threads may observe the run.
class LiveView {
 public:
  /// @throws Error{file} when `folder` is not a run folder
  explicit LiveView(std::filesystem::path folder);

  /// Reads the rows written since the last call. An incomplete last row is read by a later call. @throws Error{file}
  void read();
  /// True when the run has ended, complete or with a reason.
  [[nodiscard]] bool over() const { return run_->state().over(); }
  [[nodiscard]] double time() const { return run_->state().progress.time; }
  [[nodiscard]] std::uint64_t rows() const { return run_->state().rows; }
  [[nodiscard]] const std::shared_ptr<LiveRun>& run() const { return run_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Lines for a terminal.
  [[nodiscard]] std::string text() const { return run_->text(folder_.filename().string()); }

 private:
  void read_line(const std::string& line);
  void read_fields();

  std::filesystem::path folder_;
  std::shared_ptr<LiveRun> run_ = std::make_shared<LiveRun>();
  std::uint64_t offset_ = 0;  ///< bytes read
  std::string rest_;          ///< incomplete row
  bool has_header_ = false;
  std::vector<double> row_;
  std::size_t n_fields_ = 0;  ///< entries of fields.pvd read
};

}  // namespace heelstrike
