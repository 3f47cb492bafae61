#include "mbs_server/analysis/analysis_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

using nlohmann::json;

[[noreturn]] void reject(std::string_view expected, const std::string& found) {
  throw input_error("checkpoint",
                    fmt::format("checkpoint: expected {}, found {}; resume from another one, or restart the "
                                "run",
                                expected, found));
}

}  // namespace

AnalysisState::AnalysisState(const std::string& text) : reads_(true), json_(json::parse(text, nullptr, false)) {
  if (!json_.is_object()) reject("the state of the analysis", "other data");
}

const json& AnalysisState::read(const char* name, const char* kind, bool (*is_kind)(const json& value)) const {
  const auto found = json_.find(name);
  if (found == json_.end()) reject(fmt::format("'{}' of the analysis", name), "none");
  if (!is_kind(*found)) reject(fmt::format("a {} as '{}'", kind, name), found->dump());
  return *found;
}

void AnalysisState::exchange(const char* name, double& value) {
  if (!reads_) {
    json_[name] = value;
    return;
  }
  value = read(name, "number", [](const json& found) { return found.is_number(); }).get<double>();
}

void AnalysisState::exchange(const char* name, std::int64_t& count) {
  if (!reads_) {
    json_[name] = count;
    return;
  }
  const auto is_count = [](const json& found) {
    return found.is_number_unsigned() && found.get<std::uint64_t>() <= std::uint64_t{1} << 53;
  };
  count = read(name, "count", is_count).get<std::int64_t>();
}

void AnalysisState::exchange(const char* name, std::string& text) {
  if (!reads_) {
    json_[name] = text;
    return;
  }
  text = read(name, "string", [](const json& found) { return found.is_string(); }).get<std::string>();
}

void AnalysisState::exchange(const char* name, std::span<double> values) {
  if (!reads_) {
    json_[name] = std::span<const double>(values);
    return;
  }
  const json& list = read(name, "list", [](const json&) { return true; });
  const bool fits = list.is_array() && list.size() == values.size() &&
                    std::ranges::all_of(list, [](const json& value) { return value.is_number(); });
  if (!fits) reject(fmt::format("{} numbers as '{}'", values.size(), name), "others");
  std::ranges::transform(list, values.begin(), [](const json& value) { return value.get<double>(); });
}

}  // namespace heelstrike::mbs
