/// Data of a run folder for a page.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/results/run_folder.hpp"
#include "report/foot_prints.hpp"
#include "report/packing.hpp"
#include "report/units.hpp"
#include "scenario/catalog.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::report {

struct RunData {
  std::string label;                     ///< name of the run in the page
  std::string folder;                    ///< relative to the page; "" = folder of the page
  std::optional<RunSummary> summary;     ///< none when the run has not ended
  std::string incomplete;                ///< reason of an incomplete run; empty when complete
  std::string scenario;                  ///< text of scenario.yaml
  std::string scenario_digest;           ///< sha256 of that text
  std::optional<Scenario> model;         ///< parsed scenario; none when it cannot be read
  TimeSeries series;                     ///< without rows when the run produced none
  std::string table = "timeseries.csv";  ///< file with these rows
  std::vector<ForcePlate> measured;      ///< plates of measured_reactions.mot; empty without the file
  std::vector<FootPrint> prints;         ///< pressure of feet and other main bodies; empty without fields
  std::vector<double> field_times = {};  ///< [s] of the files in fields.pvd
  Json fields;                           ///< of fields.pvd, see fields_data.hpp; null without fields
  Json shapes;                           ///< list of shapes.hpp; empty or null without
};

/// The scenario of a run folder; none when this version cannot read it; pages then omit dependent parts.
[[nodiscard]] std::optional<Scenario> read_model(const std::filesystem::path& folder, const Catalog& catalog);

/// @param folder  relative to the page, for links
/// @throws Error{file} when the folder is not a run folder
[[nodiscard]] RunData read_run_data(const std::filesystem::path& path, std::string label, std::string folder,
                                    const Catalog& catalog);

/// True if the run has contact pairs.
[[nodiscard]] bool has_pairs(const RunData& run);

/// Display units of a page of these runs: pressures and areas have one each.
[[nodiscard]] PageUnits units_of(std::span<const RunData> runs);

/// {label, columns: [{name, owner, short, unit, quantity, packed, times?}], time, loops: [{pair, indentation, force}],
/// contacts: [{pair, onset, end, peak, force}], turns?: see relative_rotations.hpp}. Contains the columns of the series
/// and the total force of each foot, with measured plate forces.
/// @param budget  maximum number of values per column; longer columns are thinned with extremes preserved
[[nodiscard]] Json charts_json(const RunData& run, std::size_t budget);

}  // namespace heelstrike::report
