/// DataArray elements of VTK XML files.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/text/markup.hpp"

namespace heelstrike::fem::io {

/// Base64 of the byte count followed by the bytes.
/// @param unit  written as UNITS_LABEL; empty = none
template <class T>
std::string vtk_array(const std::string& name, std::string_view type, std::size_t n_components,
                      const std::vector<T>& values, const std::string& unit = {}) {
  std::string bytes;
  const std::uint64_t n_bytes = values.size() * sizeof(T);
  bytes.append(reinterpret_cast<const char*>(&n_bytes), sizeof n_bytes);
  bytes.append(reinterpret_cast<const char*>(values.data()), n_bytes);
  const std::string label =
      unit.empty() ? std::string()
                   : fmt::format("<InformationKey name=\"UNITS_LABEL\" location=\"vtkDataArray\">{}</InformationKey>\n",
                                 escaped(unit));
  return fmt::format(
      "<DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" NumberOfTuples=\"{}\" format=\"binary\">\n{}\n{}"
      "</DataArray>\n",
      type, escaped(name), n_components, values.size() / n_components, encode_base64(bytes), label);
}

/// Connectivity in VTK order: prisms start with the triangle whose normal points outward, those of VolumeMesh with the
/// other triangle.
inline std::vector<std::int64_t> vtk_connectivity(std::span<const std::uint32_t> cells, std::size_t nodes_per_cell) {
  std::vector<std::int64_t> result(cells.begin(), cells.end());
  if (nodes_per_cell != 6) return result;
  for (auto prism = result.begin(); prism != result.end(); prism += 6) std::rotate(prism, prism + 3, prism + 6);
  return result;
}

}  // namespace heelstrike::fem::io
