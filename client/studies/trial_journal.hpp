/// Journal of the trials of a calibration, written line by line, so that an interrupted calibration reuses them.
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
  /// Reads an existing file, or creates one. An incomplete last line is dropped.
  /// @param identity  of all inputs of the trials
  /// @throws Error{invalid_input} for trials with another identity, Error{file}
  TrialJournal(const std::filesystem::path& file, const std::string& identity);

  [[nodiscard]] std::optional<CalibrationTrial> find(double youngs_modulus, std::optional<double> clamp_height) const;
  /// @throws Error{file}
  void add(const CalibrationTrial& trial);

 private:
  std::vector<CalibrationTrial> trials_;
  std::unique_ptr<OutputFile> file_;
};

}  // namespace heelstrike::client
