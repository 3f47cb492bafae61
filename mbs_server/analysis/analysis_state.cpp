#include "mbs_server/analysis/analysis_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

[[noreturn]] void refuse(std::string_view expected, const std::string& found) {
  throw input_error("checkpoint",
                    fmt::format("checkpoint: expected {}, found {}; resume from another one, or restart the "
                                "run",
                                expected, found));
}

}  // namespace

AnalysisState::AnalysisState(const std::string& text) : json_(nlohmann::json::parse(text, nullptr, false)) {
  if (!json_.is_object()) refuse("the state of the analysis", "other data");
}

const nlohmann::json& AnalysisState::at(const char* name) const {
  const auto found = json_.find(name);
  if (found == json_.end()) refuse(fmt::format("'{}' of the analysis", name), "none");
  return *found;
}

double AnalysisState::number(const char* name) const {
  const auto& value = at(name);
  if (!value.is_number()) refuse(fmt::format("a number as '{}'", name), value.dump());
  return value.get<double>();
}

std::int64_t AnalysisState::count(const char* name) const {
  const auto& value = at(name);
  constexpr std::uint64_t most = std::uint64_t{1} << 53;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    refuse(fmt::format("a count as '{}'", name), value.dump());
  }
  return value.get<std::int64_t>();
}

std::string AnalysisState::text(const char* name) const {
  const auto& value = at(name);
  if (!value.is_string()) refuse(fmt::format("a string as '{}'", name), value.dump());
  return value.get<std::string>();
}

void AnalysisState::get(const char* name, std::span<double> values) const {
  const auto& list = at(name);
  const bool fits = list.is_array() && list.size() == values.size() &&
                    std::ranges::all_of(list, [](const auto& value) { return value.is_number(); });
  if (!fits) refuse(fmt::format("{} numbers as '{}'", values.size(), name), "others");
  std::ranges::transform(list, values.begin(), [](const auto& value) { return value.template get<double>(); });
}

}  // namespace heelstrike::mbs
