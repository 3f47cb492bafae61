/// summary.json: the outcome of a run for people and programs. Its key names are an interface.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/results/run_records.hpp"

namespace heelstrike {

/// What a run could not know is null in the file: NaN and negative counts of a RunSummary.
///
/// JSON text, keys in a fixed order, two spaces per level, shortest numbers that read back to the same bits.
[[nodiscard]] std::string summary_json(const RunSummary& summary);

/// [-] error of the energy balance relative to what was converted: the work of loads and drivers plus what was
/// dissipated; none when nothing was, or the error is not known.
[[nodiscard]] std::optional<double> balance_share(const EnergyBalance& energy);

/// @param file_name  for messages
/// @throws Error{file} for text that is not such a summary
[[nodiscard]] RunSummary parse_summary(std::string_view json, const std::string& file_name);

}  // namespace heelstrike
