/// Conversion of Python arrays to numbers of the library and back; arrays of results are views, not copies.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <heelstrike/types.hpp>

namespace heelstrike::python {

namespace py = pybind11;

/// Doubles, row by row. @param shape  expected; -1 = any
/// @throws hs::Error{invalid_input} for another shape, and for other than real numbers
[[nodiscard]] py::array_t<double, py::array::c_style> real_array(const py::handle& given, const char* name,
                                                                 const std::vector<py::ssize_t>& shape);

/// @param X_AB  (4, 4): rotation, translation [m], last row (0, 0, 0, 1)
/// @param V_AB  (6,) [rad/s, m/s], or None
/// @param t     a real number [s]
/// @throws hs::Error{invalid_input} as real_array, and for another last row; the rotation is checked by the library
[[nodiscard]] hs::State state_of(const py::handle& X_AB, const py::handle& V_AB, const py::handle& t);
/// @param X_AB  (n, 4, 4)
/// @param V_AB  (n, 6), (6,) or None
/// @param t     (n,) or one number [s]
[[nodiscard]] std::vector<hs::State> states_of(const py::handle& X_AB, const py::handle& V_AB, const py::handle& t);

/// Read-only view of numbers of `owner`, which the array keeps alive.
[[nodiscard]] py::array view(const double* numbers, std::vector<py::ssize_t> shape, const py::object& owner);
/// The same with a distance in bytes between entries of the first axis.
[[nodiscard]] py::array strided_view(const double* numbers, std::size_t n, std::size_t width, std::size_t stride,
                                     const py::object& owner);

}  // namespace heelstrike::python
