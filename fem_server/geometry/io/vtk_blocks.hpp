/// Compressed blocks of VTK's XML files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heelstrike::fem::io {

/// How VTK packs the arrays of a file, named by the attribute `compressor`.
struct VtkCompressor {
  std::string_view name;
  /// What the method can reach at best; a header that promises more is wrong, or an attack on the memory.
  std::uint64_t max_ratio;
  /// Fills `unpacked`. @return false when `packed` is damaged or makes another number of bytes
  bool (*unpack)(std::string_view packed, std::span<char> unpacked);
};

/// Null for a name that VTK does not have.
[[nodiscard]] const VtkCompressor* find_vtk_compressor(std::string_view name);

/// "vtkZLibDataCompressor, ...": for messages.
[[nodiscard]] std::string vtk_compressor_names();

}  // namespace heelstrike::fem::io
