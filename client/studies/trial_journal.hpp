/// The trials of a calibration in a file, line by line as they are made, so that one that was cut off takes them from
/// there.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/studies/calibration.hpp"
#include "common/files/output_file.hpp"

namespace heelstrike::client {

class TrialJournal {
 public:
  /// Reads what is there, or begins a new file. A last line that was cut off is dropped.
  /// @param identity  of all that trials depend on
  /// @throws Error{invalid_input} for the trials of something else, Error{file}
  TrialJournal(const std::filesystem::path& file, const std::string& identity);

  [[nodiscard]] std::optional<CalibrationTrial> find(double youngs_modulus, std::optional<double> clamp_height) const;
  /// @throws Error{file}
  void add(const CalibrationTrial& trial);

 private:
  std::vector<CalibrationTrial> trials_;
  std::unique_ptr<OutputFile> file_;
};

}  // namespace heelstrike::client
