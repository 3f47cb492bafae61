/// Arguments of Python except arrays. Another type raises hs::Error{invalid_input} with the name of the argument, the
/// expected type, and the type found; never the content, which may be large.
#pragma once

#include <pybind11/pybind11.h>

#include <filesystem>
#include <string>

namespace heelstrike::python {

/// @throws hs::Error{invalid_input} "NAME: expected EXPECTED, found FOUND"
[[noreturn]] void reject(const char* name, const std::string& expected, const std::string& found);
/// "a value of type str", "None"
[[nodiscard]] std::string type_text(const pybind11::handle& value);

/// Any real number of Python, including those of numpy.
[[nodiscard]] double real_number(const pybind11::handle& given, const char* name);
[[nodiscard]] std::string text(const pybind11::handle& given, const char* name);
/// Optional text: None is "".
[[nodiscard]] std::string text_or_none(const pybind11::handle& given, const char* name);
/// A text or os.PathLike.
[[nodiscard]] std::filesystem::path path(const pybind11::handle& given, const char* name);
/// A copy of bytes, a bytearray, a memoryview or another object with a buffer.
[[nodiscard]] std::string saved_bytes(const pybind11::handle& given, const char* name);

}  // namespace heelstrike::python
