/// State of an analysis in checkpoints besides the committed state: names and numbers, as text. An analysis lists its
/// members once: the same calls write them into a new state and read them from a saved one.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace heelstrike::mbs {

class AnalysisState {
 public:
  /// Empty, for writing.
  AnalysisState() = default;
  /// Saved, for reading. @throws Error{invalid_input} for text not written by an analysis
  explicit AnalysisState(const std::string& text);

  /// Writes a member, or reads it.
  /// @throws Error{invalid_input} when reading for a missing name or another kind. @{
  void exchange(const char* name, double& value);
  void exchange(const char* name, std::int64_t& count);  ///< 0 .. 2^53
  void exchange(const char* name, std::string& text);
  /// The size of `values` is the expected number.
  void exchange(const char* name, std::span<double> values);
  /// @}

  [[nodiscard]] std::string bytes() const { return json_.dump(); }

 private:
  /// The saved value. @throws Error{invalid_input} without one, or when `is_kind` is false for it
  [[nodiscard]] const nlohmann::json& read(const char* name, const char* kind,
                                           bool (*is_kind)(const nlohmann::json& value)) const;

  bool reads_ = false;
  nlohmann::json json_ = nlohmann::json::object();
};

/// View of a vector for AnalysisState.
[[nodiscard]] inline std::span<double> entries(Eigen::Ref<Eigen::VectorXd> v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

}  // namespace heelstrike::mbs
