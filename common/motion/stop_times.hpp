/// Times at which an integrator must not pass over a function of time.
///
/// An integrator with error control samples a function only where it evaluates it: while a body rests, its step grows,
/// and a load of a tenth of a second within a step of a second has no effect and causes no error.
#pragma once

#include <vector>

#include "common/motion/time_function.hpp"

namespace heelstrike {

/// Ends and middles of the parts of `f` between two times that are short compared with its longest part, and its kinks.
///
/// A part is a longest interval in which f, evaluated at many times and at its marks, equals a line or a cubic to a
/// hundredth of its range. The parts of a sine, or of any function that varies everywhere at the same rate, are equally
/// long: it has no such times, and its variation is always seen.
/// @param from, to  [s] from < to
/// @returns sorted times inside the interval
[[nodiscard]] std::vector<double> stop_times(const TimeFunction& f, double from, double to);

}  // namespace heelstrike
