/// Control of the length of macro steps by the energy that the coupling creates or destroys in them.
#pragma once

#include <optional>

#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

class StepControl {
 public:
  struct Limits {
    std::optional<double> energy;  ///< [J] per macro step
    std::optional<double> power;   ///< [W] energy per macro step over its length
    double smallest = 0.0;         ///< [s]
    double largest = 0.0;          ///< [s]
  };
  explicit StepControl(const Limits& limits) : limits_(limits) {}

  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// Energy error over its tolerance; a macro step is accepted up to 1.
  /// @param energy_error  [J] >= 0. @param length  [s] of the macro step
  [[nodiscard]] double ratio(double energy_error, double length) const;
  /// [s] The next macro step after an accepted one, or the repetition of a rejected one.
  /// @param degree  of the extrapolation polynomial: a force error of order H^(degree + 1) is an energy error of order
  /// H^(degree + 2)
  [[nodiscard]] double next_length(double energy_error, double length, int degree) const;
  /// [s] The repetition of a macro step whose trial failed.
  [[nodiscard]] double after_failure(double length) const;
  /// True if the minimum length is reached.
  [[nodiscard]] bool is_minimum(double length) const;

 private:
  Limits limits_;
};

/// The key `step_control`.
[[nodiscard]] config::KeySchema step_control_key();
/// @param coupling  the section. @throws Issue for limits that exclude each other
void check_step_control(const config::Field& coupling);
/// None if the section has no step control.
[[nodiscard]] std::optional<StepControl> read_step_control(const config::Field& coupling);

}  // namespace heelstrike::mbs
