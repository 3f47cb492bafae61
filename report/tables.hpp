/// Tables of a completed run besides or in place of timeseries.csv.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "scenario/catalog.hpp"

namespace heelstrike::report {

/// A new format is one file with its descriptor and one line in tables.cpp: the options of the programs, of C++ and of
/// Python, the digests and the files that --force removes follow from it.
struct TableFormat {
  std::string name;           ///< in C++ and Python; the option of `run` and `resume` is --NAME with '-' for '_'
  std::string file;           ///< in the run folder
  std::string description;    ///< of the option
  bool replaces_csv = false;  ///< timeseries.csv is removed when the page has been written
  /// Writes the file completely or not at all. @throws Error{file}
  void (*write)(const std::filesystem::path& run) = nullptr;

  [[nodiscard]] std::string option() const;
};

[[nodiscard]] std::span<const TableFormat> table_formats();
/// Names of the files of all formats, or of those that replace timeseries.csv.
[[nodiscard]] std::vector<std::string> table_files(bool only_replacing = false);

/// Before a run. @throws Error{invalid_input} naming the nearest format
void check_table_formats(const std::vector<std::string>& names);

/// At the end of a run: writes these tables with their digests, then report.html, which is made from timeseries.csv.
/// @param formats  by name; none for a run that did not complete, which is resumed from timeseries.csv
/// @throws Error{invalid_input} for an unknown format, Error{file}
void write_results(const std::filesystem::path& run, const std::vector<std::string>& formats, const Catalog& catalog);

}  // namespace heelstrike::report
