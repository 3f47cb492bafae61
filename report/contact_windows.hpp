/// Time windows of the contacts of one or several runs: the one that charts open with, and those to choose from.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/run_data.hpp"

namespace heelstrike::report {

using TimeWindow = std::array<double, 2>;  ///< [s] from, to

struct ContactWindow {
  std::string label;  ///< "contact 2", "contact 2, flores" or, for a run with one long contact, the pair
  TimeWindow contact;
  TimeWindow shown;  ///< with a margin
};

struct ContactWindows {
  std::vector<ContactWindow> list;
  std::optional<TimeWindow> first;  ///< to open with; none = the whole run
  TimeWindow whole;
};

/// Overlapping episodes of several pairs of a run are one contact. The first window is the contact of the largest
/// force, or all contacts where these take more than a fifth of the time; of several runs their first contacts. The
/// k-th contacts of several runs are one window if they overlap; else there is a window of all and one of each run.
/// Impacts of rigid bodies are in the list but no first window.
/// Runs without rows are omitted. @returns empty windows without rows
[[nodiscard]] ContactWindows contact_windows(std::span<const RunData> runs);

/// {list: [{label, from, to, window}], first: window or null, whole: window}; null without rows.
[[nodiscard]] Json windows_json(std::span<const RunData> runs);

}  // namespace heelstrike::report
