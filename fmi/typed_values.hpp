/// Conversion of numbers to the types of FMI.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/errors/error.hpp"
#include "fmi/fmu_description.hpp"

namespace heelstrike::mbs {

/// @param where  key of the scenario, for messages
/// @throws Error{solver_failed} for a number outside the range of the type
template <typename Type>
[[nodiscard]] Type typed(double value, const FmuVariable& variable, const std::string& where) {
  if constexpr (std::is_floating_point_v<Type>) {
    return static_cast<Type>(value);
  } else {
    using Limits = std::numeric_limits<Type>;
    constexpr bool is_flag = std::is_same_v<Type, bool>;
    const double nearest = is_flag ? static_cast<double>(value != 0.0) : std::nearbyint(value);
    // The largest 64-bit integer is not representable as a double, the next power of two is.
    const double end = std::ldexp(1.0, Limits::digits);
    if (std::isfinite(value) && nearest >= static_cast<double>(Limits::min()) && nearest < end) {
      return static_cast<Type>(nearest);
    }
    throw Error(
        ErrorCode::solver_failed,
        fmt::format("{}: expected a number in the range of the variable '{}' of type {}, from {} to {}, found {}; "
                    "set another value",
                    where, variable.name, variable.type, +Limits::min(), +Limits::max(), value),
        where);
  }
}

/// A contiguous array for the functions of FMI; std::vector<bool> has none.
template <typename Type>
[[nodiscard]] std::unique_ptr<Type[]> typed_values(std::span<const FmuVariable* const> variables,
                                                   std::span<const double> values, const std::string& where) {
  auto made = std::make_unique<Type[]>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) made[i] = typed<Type>(values[i], *variables[i], where);
  return made;
}

[[nodiscard]] inline std::vector<std::uint32_t> references_of(std::span<const FmuVariable* const> variables) {
  std::vector<std::uint32_t> references;
  for (const FmuVariable* variable : variables) references.push_back(variable->reference);
  return references;
}

/// Calls `use` with a value of the corresponding C++ type and the name of the type in FMI 3.
template <typename Use>
void with_type(NumberType type, Use use) {
  switch (type) {
    case NumberType::float64:
      return use(double{}, "Float64");
    case NumberType::float32:
      return use(float{}, "Float32");
    case NumberType::int8:
      return use(std::int8_t{}, "Int8");
    case NumberType::uint8:
      return use(std::uint8_t{}, "UInt8");
    case NumberType::int16:
      return use(std::int16_t{}, "Int16");
    case NumberType::uint16:
      return use(std::uint16_t{}, "UInt16");
    case NumberType::int32:
      return use(std::int32_t{}, "Int32");
    case NumberType::uint32:
      return use(std::uint32_t{}, "UInt32");
    case NumberType::int64:
      return use(std::int64_t{}, "Int64");
    case NumberType::uint64:
      return use(std::uint64_t{}, "UInt64");
    case NumberType::boolean:
      return use(bool{}, "Boolean");
  }
}

}  // namespace heelstrike::mbs
