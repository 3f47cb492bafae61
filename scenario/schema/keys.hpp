/// Ranges of all quantities of a scenario file, and one constructor for each common kind of key.
#pragma once

#include <string>
#include <vector>

#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

// Ranges of numbers of a scenario: beyond every practical value, and such that products of a few of them do not
// overflow. Signed quantities:
inline constexpr Range coordinates{.min = -1e6, .max = 1e6};          // [m]
inline constexpr Range speeds{.min = -1e6, .max = 1e6};               // [m/s], [rad/s]
inline constexpr Range accelerations{.min = -1e6, .max = 1e6};        // [m/s^2]
inline constexpr Range angles{.min = -1e6, .max = 1e6};               // [rad]
inline constexpr Range loads{.min = -1e12, .max = 1e12};              // [N], [N m]
inline constexpr Range stiffness_entries{.min = -1e15, .max = 1e15};  // [N/m], [N m/rad], [N s/m], [N m s/rad]
inline constexpr Range inertia_entries{.min = -1e15, .max = 1e15};    // [kg m^2]
inline constexpr Range direction_entries{.min = -1e6, .max = 1e6};    // [-]
inline constexpr Range function_numbers{.min = -1e15, .max = 1e15};   // in the unit of the function
// Quantities without sign:
inline constexpr Range lengths{.min = 1e-9, .max = 1e6};      // [m]
inline constexpr Range areas{.min = 1e-18, .max = 1e12};      // [m^2]
inline constexpr Range masses{.min = 1e-12, .max = 1e12};     // [kg]
inline constexpr Range times{.min = 1e-12, .max = 1e9};       // [s]
inline constexpr Range instants{.min = -1e9, .max = 1e9};     // [s]
inline constexpr Range frequencies{.min = 1e-9, .max = 1e9};  // [Hz]
inline constexpr Range rates{.min = 0.0, .max = 1e9};         // [1/s]
inline constexpr Range stiffnesses{.min = 0.0, .max = 1e15};  // [N/m], [N m/rad], [N], [N s/m], [N m s/rad]
inline constexpr Range moduli{.min = 1e-3, .max = 1e15};      // [Pa]
inline constexpr Range densities{.min = 0.0, .max = 1e6};     // [kg/m^3]
inline constexpr Range strains{.min = 1e-9, .max = 10.0};     // [-]
inline constexpr Range scales{.min = 1e-9, .max = 1e6};       // [m per file unit]

[[nodiscard]] KeySchema vector3(std::string name, std::string unit, Range range, std::string meaning,
                                std::optional<ParameterValue> fallback = std::vector<double>(3, 0.0));
[[nodiscard]] KeySchema required(KeySchema key);
[[nodiscard]] KeySchema quaternion(std::string name, std::string meaning);
/// A direction of any nonzero length.
[[nodiscard]] KeySchema direction(std::string name, const std::string& meaning);
/// Name of a file that contains the entry.
[[nodiscard]] KeySchema file(std::string name, std::string meaning, KeyRole role = KeyRole::file);
[[nodiscard]] KeySchema text(std::string name, std::string meaning);
[[nodiscard]] KeySchema number(std::string name, std::string unit, Range range, std::string meaning,
                               std::optional<double> fallback = {});
/// A whole number.
[[nodiscard]] KeySchema integer(std::string name, Range range, std::string meaning,
                                std::optional<double> fallback = {});
[[nodiscard]] KeySchema flag(std::string name, std::string meaning, std::optional<bool> fallback = false);
/// One of several texts. @param fallback  default; empty = none
[[nodiscard]] KeySchema choice(std::string name, std::vector<std::string> choices, std::string meaning,
                               const std::string& fallback = {});
[[nodiscard]] KeySchema number_list(std::string name, std::string unit, Range range, std::string meaning,
                                    std::vector<std::size_t> sizes = {});
[[nodiscard]] KeySchema text_list(std::string name, std::string meaning);
[[nodiscard]] KeySchema vector3_list(std::string name, const std::string& unit, Range range, std::string meaning);

}  // namespace heelstrike::config
