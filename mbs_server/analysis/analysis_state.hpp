/// State of an analysis in checkpoints besides the committed state: names and numbers, as text.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace heelstrike::mbs {

class AnalysisState {
 public:
  AnalysisState() = default;
  /// @throws Error{invalid_input} for text not written by an analysis
  explicit AnalysisState(const std::string& text);

  void set(const char* name, double value) { json_[name] = value; }
  void set(const char* name, std::int64_t value) { json_[name] = value; }
  void set(const char* name, std::span<const double> values) { json_[name] = values; }
  void set(const char* name, const std::string& text) { json_[name] = text; }

  /// @throws Error{invalid_input} for a missing name or another kind, as all functions below
  [[nodiscard]] double number(const char* name) const;
  /// 0 .. 2^53
  [[nodiscard]] std::int64_t count(const char* name) const;
  [[nodiscard]] std::string text(const char* name) const;
  /// @param values  filled; its size is the expected number
  void get(const char* name, std::span<double> values) const;

  [[nodiscard]] std::string bytes() const { return json_.dump(); }

 private:
  [[nodiscard]] const nlohmann::json& at(const char* name) const;

  nlohmann::json json_ = nlohmann::json::object();
};

/// View of a vector for AnalysisState.
[[nodiscard]] inline std::span<double> entries(Eigen::Ref<Eigen::VectorXd> v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

}  // namespace heelstrike::mbs
