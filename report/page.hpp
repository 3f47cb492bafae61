/// The page of a run or of several: one self-contained HTML file. Tables are static HTML and readable without scripts;
/// charts are added by the script.
#pragma once

#include <span>
#include <string>

#include "report/grf_report.hpp"
#include "report/run_data.hpp"

namespace heelstrike::report {

/// Maximum number of values over all columns of all runs of a page, including times; a double is about 8 bytes of text
/// after compression, so that a page stays below 4 MB, or somewhat more with many hundreds of columns.
constexpr std::size_t values_per_page = 400'000;

/// Runs of a comparison that are drawn in 3D and as pressure maps.
constexpr std::size_t runs_in_3d = 6;
/// Curves of more runs cannot be distinguished, and would make the page of a large sweep too large for a browser.
constexpr std::size_t max_runs_with_curves = 100;

[[nodiscard]] std::string run_page(const RunData& run);

/// @param comparison  content of comparison.json
/// @param runs        the rows with a folder, in order
[[nodiscard]] std::string comparison_page(const Json& comparison, std::span<const RunData> runs);

/// @param stances  curves, see grf_report.cpp
[[nodiscard]] std::string measurement_page(const GrfPage& page, const Json& stances);

}  // namespace heelstrike::report
