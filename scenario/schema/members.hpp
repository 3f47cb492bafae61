/// Keys whose values are members of a structure. A row describes the key and names the member, whose initial value is
/// the default of the key: reading, validation, defaults and the reference follow from the rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scenario/schema/field.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

template <typename Owner>
struct MemberKey {
  KeySchema key;
  std::function<void(const Field& value, Owner& owner)> read;
};

template <typename Owner>
using MemberKeys = std::vector<MemberKey<Owner>>;

/// Converts a checked value to a member: a number, a flag, a text, a list of texts or numbers, a vector, or one of
/// these as optional.
template <typename T>
void read_value(const Field& field, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = field.flag();
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = static_cast<T>(field.number());
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = field.text();
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    value = read_texts(field);
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    value = field.numbers();
  } else if constexpr (std::is_same_v<T, Vector3>) {
    value = field.vector3();
  } else {
    read_value(field, value.emplace());
  }
}

/// The default of a key from the initial value of its member; none for an empty text, list or optional.
template <typename T>
[[nodiscard]] std::optional<ParameterValue> default_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.empty() ? std::nullopt : std::optional<ParameterValue>(value);
  } else if constexpr (std::is_same_v<T, Vector3>) {
    return std::vector<double>(value.begin(), value.end());
  } else {
    return {};
  }
}

/// The row of a key with its member. The default is that of `key` or, unless the key is required, that of the member.
template <typename Owner, typename T>
[[nodiscard]] MemberKey<Owner> member(T Owner::*place, KeySchema key) {
  if (!key.required && !key.fallback) key.fallback = default_of(Owner{}.*place);
  return {std::move(key), [place](const Field& value, Owner& owner) { read_value(value, owner.*place); }};
}

/// The row of a member whose initial value means that the key is absent.
template <typename Owner, typename T>
[[nodiscard]] MemberKey<Owner> member_without_default(T Owner::*place, KeySchema key) {
  return {std::move(key), [place](const Field& value, Owner& owner) { read_value(value, owner.*place); }};
}

/// The row of an enumeration or a flag whose values 0, 1, ... are the texts `choices`.
template <typename Owner, typename T>
[[nodiscard]] MemberKey<Owner> choice_member(T Owner::*place, std::string name, std::vector<std::string> choices,
                                             std::string meaning) {
  const std::string fallback = choices.at(static_cast<std::size_t>(Owner{}.*place));
  const auto read = [place, choices](const Field& value, Owner& owner) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (value.text() == choices[i]) owner.*place = static_cast<T>(i);
    }
  };
  return {choice(std::move(name), choices, std::move(meaning), fallback), read};
}

/// The keys of the rows.
template <typename Owner>
[[nodiscard]] std::vector<KeySchema> keys_of(const MemberKeys<Owner>& rows) {
  std::vector<KeySchema> keys;
  for (const auto& row : rows) keys.push_back(row.key);
  return keys;
}

/// Sets the members of `owner` whose keys are in the map.
template <typename Owner>
void read_members(const Field& map, const MemberKeys<Owner>& rows, Owner& owner) {
  for (const auto& row : rows) {
    if (map.has(row.key.name)) row.read(map[row.key.name], owner);
  }
}

}  // namespace heelstrike::config
