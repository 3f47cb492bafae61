/// report.html of a run folder or of a comparison folder.
#pragma once

#include <filesystem>

#include "scenario/catalog.hpp"

namespace heelstrike::report {

/// True for the folder of a comparison or sweep: it contains comparison.json.
[[nodiscard]] bool is_comparison(const std::filesystem::path& folder);

/// Writes `folder`/report.html from the files in the folder. @returns its path
/// @throws Error{file} when the folder is neither of a run nor of a comparison
std::filesystem::path write_report(const std::filesystem::path& folder, const Catalog& catalog);

}  // namespace heelstrike::report
