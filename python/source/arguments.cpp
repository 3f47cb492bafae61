#include "python/source/arguments.hpp"

#include <pybind11/stl/filesystem.h>

#include <heelstrike/error.hpp>

namespace heelstrike::python {

namespace py = pybind11;

void reject(const char* name, const std::string& expected, const std::string& found) {
  throw hs::Error(hs::ErrorCode::invalid_input, std::string(name) + ": expected " + expected + ", found " + found, {},
                  0, name);
}

std::string type_text(const py::handle& value) {
  if (value.is_none()) return "None";
  return "a value of type " + std::string(py::str(py::type::of(value).attr("__name__")));
}

double real_number(const py::handle& given, const char* name) {
  const double number = PyFloat_AsDouble(given.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    reject(name, "a real number", type_text(given));
  }
  return number;
}

std::string text(const py::handle& given, const char* name) {
  if (!py::isinstance<py::str>(given)) reject(name, "a text", type_text(given));
  return given.cast<std::string>();
}

std::string text_or_none(const py::handle& given, const char* name) {
  if (given.is_none()) return {};
  if (!py::isinstance<py::str>(given)) reject(name, "a text or None", type_text(given));
  return given.cast<std::string>();
}

std::filesystem::path path(const py::handle& given, const char* name) {
  if (!py::isinstance<py::str>(given) && !py::hasattr(given, "__fspath__")) {
    reject(name, "the path of a file or folder", type_text(given));
  }
  return given.cast<std::filesystem::path>();
}

std::string saved_bytes(const py::handle& given, const char* name) {
  if (PyObject_CheckBuffer(given.ptr()) == 0) reject(name, "the bytes of save()", type_text(given));
  const auto bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromObject(given.ptr()));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

}  // namespace heelstrike::python
