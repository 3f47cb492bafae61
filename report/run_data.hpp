/// A run folder as a page needs it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/results/run_folder.hpp"
#include "report/foot_prints.hpp"
#include "report/packing.hpp"
#include "scenario/catalog.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::report {

struct RunData {
  std::string label;                     ///< how the page calls the run
  std::string folder;                    ///< relative to the page; "" = the page lies in it
  std::optional<RunSummary> summary;     ///< none when the run has not ended
  std::string incomplete;                ///< why the run is not complete; empty when it is
  std::string scenario;                  ///< text of scenario.yaml
  std::string scenario_digest;           ///< sha256 of that text
  std::optional<Scenario> model;         ///< what that text says; none when it cannot be read
  TimeSeries series;                     ///< without rows when the run produced none
  std::string table = "timeseries.csv";  ///< file that holds these rows
  std::vector<ForcePlate> measured;      ///< beside the run: measured_reactions.mot; empty without
  std::vector<FootPrint> prints;         ///< pressure of feet and other main bodies; empty without fields
  Json fields;                           ///< of fields.pvd, see fields_data.hpp; null without fields
  Json shapes;                           ///< list of shapes.hpp; empty or null without
};

/// The scenario of a run folder; none when this version cannot read it, and then what is shown does without it.
[[nodiscard]] std::optional<Scenario> read_model(const std::filesystem::path& folder, const Catalog& catalog);

/// @param folder  relative to the page, for links
/// @throws Error{file} when the folder is not one of a run
[[nodiscard]] RunData read_run_data(const std::filesystem::path& path, std::string label, std::string folder,
                                    const Catalog& catalog);

/// Whether bodies of the run may touch; a mechanism without contact has none.
[[nodiscard]] bool has_pairs(const RunData& run);

/// {label, columns: [{name, owner, short, unit, quantity, packed, times?}], time, loops: [{pair, indentation, force}],
/// contacts: [{pair, onset, end, peak, force}], turns?: see relative_rotations.hpp}. Beside the columns of the series
/// the total force of each foot, with what a plate measured.
/// @param budget  values kept of one column; longer ones are thinned with their extremes kept
[[nodiscard]] Json charts_json(const RunData& run, std::size_t budget);

}  // namespace heelstrike::report
