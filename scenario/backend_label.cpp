#include "scenario/backend_label.hpp"

#include <fmt/ranges.h>

#include <set>

namespace heelstrike {

std::string backend_label(const Scenario& scenario, const std::string& without_pairs) {
  std::set<std::string> names;
  for (const PairModel& pair : scenario.pairs) names.insert(pair.spec.backend);
  return names.empty() ? without_pairs : fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace heelstrike
