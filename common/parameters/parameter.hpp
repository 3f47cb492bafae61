/// Named parameters that know their unit, range and meaning. One schema feeds validation, `heelstrike backends`, the
/// wire and the user guide.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace heelstrike {

using ParameterValue = std::variant<bool, double, std::string, std::vector<double>>;
using ParameterMap = std::map<std::string, ParameterValue>;

enum class ParameterKind { number, text, flag, numbers };

/// Admissible interval of a number; open ends are excluded.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;
  bool max_excluded = false;

  [[nodiscard]] bool contains(double value) const;
  /// "(0, 1]", "> 0", "any": for messages.
  [[nodiscard]] std::string text() const;
};

struct ParameterSchema {
  std::string name;
  ParameterKind kind = ParameterKind::number;
  std::string unit = "-";                  ///< SI unit, "-" where there is none
  std::string meaning;                     ///< one sentence
  bool required = false;                   ///< a value must be given
  std::optional<ParameterValue> fallback;  ///< value used when none is given; none = derived, see `meaning`
  Range range;                             ///< of a number, or of every entry of a list of numbers
  std::vector<std::string> choices;        ///< admissible texts; empty = any
  /// A text: the name of a file, relative to the scenario, or nothing; whoever opens the pair is given its sha256.
  bool is_file = false;
  /// Texts that users may expect and that do not exist, each with the reason and what to take instead.
  std::vector<std::pair<std::string, std::string>> removed_choices{};
  /// Name that this parameter had before and how its values are said now; a refusal of the old name tells it.
  std::string former_name{};
  std::string former_values{};
};

/// Checks `given` against `schema` and fills in the defaults.
/// @param where  dotted key of the map for messages, e.g. "contact.ball-ground.parameters"
/// @throws Error{invalid_input} with the offending key for an unknown name (the nearest known one is suggested), a
/// missing
///         required one, a wrong kind, a number that is not finite or out of range, a text that is not among the
///         choices
[[nodiscard]] ParameterMap checked_parameters(const ParameterMap& given, std::span<const ParameterSchema> schema,
                                              const std::string& where);

/// Typed access after checking. @throws Error{internal} when absent or of another kind: a defect, not a user's mistake.
[[nodiscard]] double number(const ParameterMap& parameters, const std::string& name);
[[nodiscard]] const std::string& text(const ParameterMap& parameters, const std::string& name);
[[nodiscard]] bool flag(const ParameterMap& parameters, const std::string& name);
/// The number if it is there.
[[nodiscard]] std::optional<double> optional_number(const ParameterMap& parameters, const std::string& name);

/// The candidate nearest to `word` by edit distance, if it is near enough to be meant (at most a third of the letters
/// differ, and never fewer than two allowed).
[[nodiscard]] std::optional<std::string> nearest_name(const std::string& word, std::span<const std::string> candidates);

}  // namespace heelstrike
