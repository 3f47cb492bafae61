/// The points of a sweep: every combination of the values of the varied keys.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heelstrike::client {

struct Variation {
  std::string key;                  ///< as in --set: "contact.restitution"
  std::vector<std::string> values;  ///< as assigned
};

struct SweepPoint {
  std::vector<std::string> assignments;  ///< "contact.restitution=0.2", one per variation
  std::string label;                     ///< "restitution=0.2 stiffness=1e8"
  std::string folder;                    ///< sweep_folder()
};

/// "KEY=FROM:TO:STEP" (both ends included if TO is a multiple of the step from FROM) or "KEY=VALUE,VALUE,...".
/// @throws Error{invalid_input} for another form, a step of the wrong sign, or more than 100000 values
[[nodiscard]] Variation parse_variation(const std::string& text);

/// The varied keys with their values.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters_of(const SweepPoint& point);

/// "0002_restitution=0.2_stiffness=1e8" @param number  of the run, from 1
[[nodiscard]] std::string sweep_folder(std::size_t number, const std::string& label);

/// Row by row: the last variation changes fastest.
/// @throws Error{invalid_input} for two variations of one key, or more than 100000 points
[[nodiscard]] std::vector<SweepPoint> sweep_points(const std::vector<Variation>& variations);

}  // namespace heelstrike::client
