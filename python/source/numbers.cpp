#include "python/source/numbers.hpp"

#include <algorithm>

#include "python/source/arguments.hpp"

namespace heelstrike::python {
namespace {

std::string shape_text(const std::vector<py::ssize_t>& shape) {
  std::string text = "(";
  for (const py::ssize_t n : shape) text += (n < 0 ? std::string("n") : std::to_string(n)) + ", ";
  if (shape.size() != 1 && !shape.empty()) text.erase(text.size() - 2);
  if (shape.size() == 1) text.pop_back();
  return text + ")";
}

bool fits(const py::array& array, const std::vector<py::ssize_t>& shape) {
  if (array.ndim() != static_cast<py::ssize_t>(shape.size())) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0 && array.shape(static_cast<py::ssize_t>(i)) != shape[i]) return false;
  }
  return true;
}

/// @param X  16 numbers
void take_pose(const double* X, hs::State& state) {
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) state.R_AB[3 * i + j] = X[4 * i + j];
    state.p_AB[i] = X[4 * i + 3];
  }
  const bool homogeneous = X[12] == 0.0 && X[13] == 0.0 && X[14] == 0.0 && X[15] == 1.0;
  if (homogeneous) return;
  std::string row = "(";
  for (std::size_t j = 12; j < 16; ++j) row += std::to_string(X[j]) + (j < 15 ? ", " : ")");
  reject("X_AB", "a homogeneous matrix with the last row (0, 0, 0, 1) (is it transposed?)", "the last row " + row);
}

}  // namespace

py::array_t<double, py::array::c_style> real_array(const py::handle& given, const char* name,
                                                   const std::vector<py::ssize_t>& shape) {
  const std::string expected = "real numbers of shape " + shape_text(shape);
  const py::array array = py::array::ensure(given);
  if (!array) {
    PyErr_Clear();
    reject(name, expected, "no array: " + type_text(given));
  }
  const char kind = array.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u') {
    reject(name, expected, "an array of " + std::string(py::str(array.dtype())));
  }
  if (!fits(array, shape)) {
    reject(name, expected, "the shape " + shape_text({array.shape(), array.shape() + array.ndim()}));
  }
  return py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(array);
}

hs::State state_of(const py::handle& X_AB, const py::handle& V_AB, const py::handle& t) {
  hs::State state;
  state.t = real_number(t, "t");
  take_pose(real_array(X_AB, "X_AB", {4, 4}).data(), state);
  if (!V_AB.is_none()) std::copy_n(real_array(V_AB, "V_AB", {6}).data(), 6, state.V_AB.begin());
  return state;
}

std::vector<hs::State> states_of(const py::handle& X_AB, const py::handle& V_AB, const py::handle& t) {
  const auto poses = real_array(X_AB, "X_AB", {-1, 4, 4});
  const py::ssize_t n = poses.shape(0);
  std::vector<hs::State> states(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < states.size(); ++i) take_pose(poses.data() + 16 * i, states[i]);
  if (!V_AB.is_none()) {
    const bool one = py::array::ensure(V_AB) && py::array::ensure(V_AB).ndim() == 1;
    const auto twists = one ? real_array(V_AB, "V_AB", {6}) : real_array(V_AB, "V_AB", {n, 6});
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::copy_n(twists.data() + (one ? 0 : 6 * i), 6, states[i].V_AB.begin());
    }
  }
  const bool one_time = py::array::ensure(t) && py::array::ensure(t).ndim() == 0;
  const auto times = one_time ? real_array(t, "t", {}) : real_array(t, "t", {n});
  for (std::size_t i = 0; i < states.size(); ++i) states[i].t = times.data()[one_time ? 0 : i];
  return states;
}

namespace {

/// Views of shared numbers must not be writable.
py::array read_only(py::array array) {
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

}  // namespace

py::array view(const double* numbers, std::vector<py::ssize_t> shape, const py::object& owner) {
  return read_only(py::array_t<double>(std::move(shape), numbers, owner));
}

py::array strided_view(const double* numbers, std::size_t n, std::size_t width, std::size_t stride,
                       const py::object& owner) {
  const auto rows = static_cast<py::ssize_t>(n), columns = static_cast<py::ssize_t>(width);
  const auto row_bytes = static_cast<py::ssize_t>(stride);
  if (width == 1) return read_only(py::array_t<double>({rows}, {row_bytes}, numbers, owner));
  return read_only(
      py::array_t<double>({rows, columns}, {row_bytes, static_cast<py::ssize_t>(sizeof(double))}, numbers, owner));
}

}  // namespace heelstrike::python
