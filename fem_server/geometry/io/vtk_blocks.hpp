/// Compressed blocks of VTK XML files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heelstrike::fem::io {

/// Compression method of the arrays of a file, selected by the attribute `compressor`.
struct VtkCompressor {
  std::string_view name;
  /// Maximum compression ratio of the method; a header that declares more is wrong, or a memory exhaustion attack.
  std::uint64_t max_ratio;
  /// Fills `unpacked`. @return false when `packed` is corrupt or unpacks to a different number of bytes
  bool (*unpack)(std::string_view packed, std::span<char> unpacked);
};

/// Null for an unknown name.
[[nodiscard]] const VtkCompressor* find_vtk_compressor(std::string_view name);

/// "vtkZLibDataCompressor, ...", for messages.
[[nodiscard]] std::string vtk_compressor_names();

}  // namespace heelstrike::fem::io
