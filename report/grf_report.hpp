/// Page of ground reactions beside those of force plates.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gait/force_plate.hpp"

namespace heelstrike::report {

struct PageTable {
  std::string heading;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string note;  ///< below it; may be empty
  std::string svg;   ///< picture below that; may be empty. Also written as a file of its own
};

struct GrfPage {
  std::string run;       ///< name of the run
  std::string measured;  ///< name of the file
  std::vector<PageTable> tables;
};

/// Writes `folder`/report.html and `folder`/stance_N.svg, the folder made when missing: the tables, and the forces,
/// moments and centres of pressure of the plates that both have, overlaid over the time that the prediction covers.
/// @returns its path
/// @throws Error{file}
std::filesystem::path write_grf_report(const std::filesystem::path& folder, const GrfPage& page,
                                       const std::vector<ForcePlate>& measured,
                                       const std::vector<ForcePlate>& predicted);

}  // namespace heelstrike::report
