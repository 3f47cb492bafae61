/// Keys of scenario files and parameters of back-ends as data: one description of a key serves reading, validation,
/// defaults, messages, `heelstrike schema`, `heelstrike backends`, the JSON Schema and the wire.
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

namespace config {

enum class KeyKind {
  number,     ///< finite, in `unit`, in `range`
  integer,    ///< whole number in `range`
  text,       ///< one of `choices` if not empty
  flag,       ///< true or false
  numbers,    ///< list of finite numbers in `range`, count in `sizes` (empty = any)
  list,       ///< list; `keys[0]` describes every entry
  map,        ///< the keys in `keys`
  named,      ///< map of entries with user-defined names; each is a map with the keys in `keys`
  one_of,     ///< map with exactly one of `keys`
  variant,    ///< map of one of several types: keys[0] selects it, the others are the maps of the types by name
  parameters  ///< map of any keys; that of a contact pair is checked against the parameters of its back-end
};

/// Role of a value beyond its kind.
enum class KeyRole {
  plain,
  direction,  ///< three numbers of nonzero norm, normalised when read
  rotation,   ///< unit quaternion [w, x, y, z]
  /// Text: a file sent with the scenario, relative to it. Of a parameter: or empty; replaced by the sha256 of the file
  /// when the pair is opened.
  file,
  asset  ///< text: a file in the contact server's asset folder
};

/// One key. Every member has an initializer, so that tables may omit members.
struct KeySchema {
  std::string name = {};
  KeyKind kind = KeyKind::number;
  std::string unit = "-";                       ///< SI unit, "-" where there is none
  std::string meaning = {};                     ///< one sentence
  bool required = false;                        ///< a value must be given
  bool opt_in = false;                          ///< of a map whose keys all have defaults: its absence has a meaning
  std::optional<ParameterValue> fallback = {};  ///< default; none = no default, or derived (see `meaning`)
  Range range = {};                             ///< of a number, or of every entry of a list of numbers
  std::vector<std::size_t> sizes = {};          ///< admissible lengths of a list of numbers; empty = any
  std::vector<std::string> choices = {};        ///< admissible texts or whole numbers; empty = any
  std::vector<KeySchema> keys = {};
  KeyRole role = KeyRole::plain;
  /// Keys of different forms exclude each other, and required keys are required in their form only. The form used is
  /// that of the first such key given, or else the first in the table. Empty = any form.
  std::string form = {};
  /// Texts that users may expect and that are not available, each with the reason and the alternative.
  std::vector<std::pair<std::string, std::string>> removed_choices = {};
};

/// "a number > 0 [kg]", "a list of 3 or 6 numbers [kg m^2]": the second half of "expected ...".
[[nodiscard]] std::string expectation(const KeySchema& key);

/// A value as text of a scenario file: "0.5", "true", "[0, 0, 1]".
[[nodiscard]] std::string text_of(const ParameterValue& value);

/// Checks a number, or one entry of a list of numbers, against range and choices.
/// @returns advice, the last part of "expected ..., found ...; advice"; none = valid
[[nodiscard]] std::optional<std::string> number_violation(const KeySchema& key, double value);
/// The same for a text.
[[nodiscard]] std::optional<std::string> text_violation(const KeySchema& key, const std::string& value);
/// The same for the length of a list of numbers.
[[nodiscard]] std::optional<std::string> size_violation(const KeySchema& key, std::size_t size);

/// Checks a value that is not from a scenario file, of a key of kind number, integer, text, flag or numbers.
/// @param path  dotted key of the value
/// @throws Error{invalid_input} "PATH: expected ..., found ...; advice"
void check_value(const KeySchema& key, const ParameterValue& value, const std::string& path);

}  // namespace config

/// A parameter of a back-end is a key of the map `parameters` of a pair.
using ParameterSchema = config::KeySchema;
using ParameterKind = config::KeyKind;

/// Checks `given` against `schema` and fills in the defaults.
/// @param where  dotted key of the map for messages, e.g. "contact.ball-ground.parameters"
/// @throws Error{invalid_input} with the offending key for an unknown name (with the nearest known one), a missing
/// required one, and as config::check_value
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
