/// Named parameters with unit, range and meaning. One schema serves validation, `heelstrike backends`, the wire and the
/// user guide.
///
/// Constructors of back-end parameters, one for each common kind.
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
  std::optional<ParameterValue> fallback;  ///< default; none = derived, see `meaning`
  Range range;                             ///< of a number, or of every entry of a list of numbers
  std::vector<std::string> choices;        ///< admissible texts; empty = any
  /// A text: the name of a file, relative to the scenario, or empty; replaced by the sha256 of the file when the pair
  /// is opened.
  bool is_file = false;
  /// Texts that users may expect and that are not available, each with the reason and the alternative.
  std::vector<std::pair<std::string, std::string>> removed_choices{};
};

/// Checks `given` against `schema` and fills in the defaults.
/// @param where  dotted key of the map for messages, e.g. "contact.ball-ground.parameters"
/// @throws Error{invalid_input} with the offending key for an unknown name (with the nearest known one), a missing
/// required one, a wrong kind, a number that is not finite or out of range, a text that is not among the choices
[[nodiscard]] ParameterMap checked_parameters(const ParameterMap& given, std::span<const ParameterSchema> schema,
                                              const std::string& where);

/// Typed access after checking. @throws Error{internal} if absent or of another kind, which is a defect of the program.
[[nodiscard]] double number(const ParameterMap& parameters, const std::string& name);
[[nodiscard]] const std::string& text(const ParameterMap& parameters, const std::string& name);
[[nodiscard]] bool flag(const ParameterMap& parameters, const std::string& name);
/// The number if present.
[[nodiscard]] std::optional<double> optional_number(const ParameterMap& parameters, const std::string& name);

/// Parameters of a pair with their key prefix, for messages.
struct ParameterScope {
  std::string where;  ///< "contact.NAME.parameters."
  const ParameterMap& parameters;

  /// A list that is empty or has `expected` entries. @throws Error{invalid_input}
  [[nodiscard]] std::vector<double> numbers(const std::string& name, std::size_t expected) const;
};

inline constexpr Range positive{.min = 0.0, .min_excluded = true};
inline constexpr Range not_negative{.min = 0.0};

/// @param fallback  none = derived, see `meaning`
[[nodiscard]] ParameterSchema number_parameter(std::string name, std::string unit, std::string meaning,
                                               std::optional<double> fallback, Range range);
/// @param choices  empty = any text
[[nodiscard]] ParameterSchema text_parameter(std::string name, std::string meaning, std::string fallback,
                                             std::vector<std::string> choices = {});
/// A file of the scenario: empty by default, else the sha256 of its content.
[[nodiscard]] ParameterSchema file_parameter(std::string name, std::string meaning);
/// A list of numbers, empty by default.
[[nodiscard]] ParameterSchema list_parameter(std::string name, std::string unit, std::string meaning);

}  // namespace heelstrike
