/// Messages between mesher.cpp and the program heelstrike-mesher: one line of JSON, then raw little-endian arrays.
///
/// Request:  {"version", "shape": "surface" | "ball" | "sheet", "radius", "size", "growth", "remesh", "slide",
///            "feature_angle", "max_nodes", "max_elements", "n_vertices", "n_triangles",
///            "refinements": [{"kind": "box" | "ball" | "set", "size", ...}]}
///           then vertices (double), triangles (uint32); then vertices and triangles of every set region.
/// Reply:    {"ok": true, "mesher", "n_nodes", "n_elements"}, then nodes (double), tetrahedra, or triangles of a sheet
///           (uint32); or
///           {"ok": false, "code": "limit" | "solver_failed" | "invalid_input", "message"}.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/geometry/size_field.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem::mesher_protocol {

inline constexpr int version = 2;

/// @param values  contiguous, trivially copyable once flattened
template <class T>
void append(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// Removes `n` values from the front of `bytes`. @throws Error{internal} when there are fewer
template <class T>
std::vector<T> read_array(std::string_view& bytes, std::size_t n) {
  static_assert(sizeof(Vector3) == 3 * sizeof(double));
  if (bytes.size() / sizeof(T) < n)
    throw Error(ErrorCode::internal, "mesher protocol: message shorter than declared in its header");
  std::vector<T> values(n);
  if (n > 0) std::memcpy(static_cast<void*>(values.data()), bytes.data(), n * sizeof(T));
  bytes.remove_prefix(n * sizeof(T));
  return values;
}

/// JSON header of a message; `bytes` is advanced past it.
inline nlohmann::json read_header_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) throw Error(ErrorCode::internal, "mesher protocol: missing header line");
  nlohmann::json header = nlohmann::json::parse(bytes.substr(0, end), nullptr, false);
  if (!header.is_object()) throw Error(ErrorCode::internal, "mesher protocol: the header is not a JSON object");
  bytes.remove_prefix(end + 1);
  return header;
}

}  // namespace heelstrike::fem::mesher_protocol
