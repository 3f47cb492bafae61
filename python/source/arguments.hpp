/// Arguments of Python that are no arrays. What has another type is a sentence (hs::Error{invalid_input}) that names
/// the argument, what was expected, and the type that was found; never its content, which may be large.
#pragma once

#include <pybind11/pybind11.h>

#include <filesystem>
#include <string>

namespace heelstrike::python {

/// @throws hs::Error{invalid_input} "NAME: expected EXPECTED, found FOUND"
[[noreturn]] void refuse(const char* name, const std::string& expected, const std::string& found);
/// "a value of type str", "None"
[[nodiscard]] std::string type_text(const pybind11::handle& value);

/// Anything that is a real number to Python, numpy's included.
[[nodiscard]] double real_number(const pybind11::handle& given, const char* name);
[[nodiscard]] std::string text(const pybind11::handle& given, const char* name);
/// Of an argument that need not be given: None is "".
[[nodiscard]] std::string text_or_none(const pybind11::handle& given, const char* name);
/// A text or os.PathLike.
[[nodiscard]] std::filesystem::path path(const pybind11::handle& given, const char* name);
/// A copy of bytes, a bytearray, a memoryview or whatever else shows its memory.
[[nodiscard]] std::string saved_bytes(const pybind11::handle& given, const char* name);

}  // namespace heelstrike::python
