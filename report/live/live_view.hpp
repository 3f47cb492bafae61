/// A run as its folder shows it while it is being written: only new bytes of timeseries.csv are read each time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "report/live/live_run.hpp"

namespace heelstrike {

/// One thread at a time may read(); the run it feeds may be looked at by others.
class LiveView {
 public:
  /// @throws Error{file} when `folder` is not a run folder
  explicit LiveView(std::filesystem::path folder);

  /// Takes in what was written since the last call. Half a row at the end waits for its other half. @throws Error{file}
  void read();
  /// The run is complete, or said why it is not.
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
  std::uint64_t offset_ = 0;  ///< bytes taken
  std::string rest_;          ///< torn row
  bool has_header_ = false;
  std::vector<double> row_;
  std::size_t n_fields_ = 0;  ///< entries of fields.pvd taken
};

}  // namespace heelstrike
