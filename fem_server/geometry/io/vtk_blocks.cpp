#include "fem_server/geometry/io/vtk_blocks.hpp"

#include <lz4.h>
#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace heelstrike::fem::io {

namespace {

bool unpack_zlib(std::string_view packed, std::span<char> unpacked) {
  uLongf n = unpacked.size();
  const int result = uncompress(reinterpret_cast<Bytef*>(unpacked.data()), &n,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  return result == Z_OK && n == unpacked.size();
}

bool unpack_lz4(std::string_view packed, std::span<char> unpacked) {
  constexpr std::size_t largest = std::numeric_limits<int>::max();
  if (packed.size() > largest || unpacked.size() > largest) return false;
  const auto n = static_cast<int>(unpacked.size());
  return LZ4_decompress_safe(packed.data(), unpacked.data(), static_cast<int>(packed.size()), n) == n;
}

bool unpack_lzma(std::string_view packed, std::span<char> unpacked) {
  // The strongest preset needs 65 MiB to unpack; a header can request 4 GiB.
  std::uint64_t memory = 128ULL << 20;
  std::size_t from = 0, to = 0;
  const lzma_ret result =
      lzma_stream_buffer_decode(&memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(packed.data()), &from,
                                packed.size(), reinterpret_cast<std::uint8_t*>(unpacked.data()), &to, unpacked.size());
  return result == LZMA_OK && to == unpacked.size();
}

/// Ratios: a length byte of LZ4 represents 255 bytes; deflate takes two bits for a match of 258; a repeated match of
/// LZMA takes 14 decisions of 0.022 bit each for 273 bytes.
constexpr auto compressors = std::to_array<VtkCompressor>({{"vtkZLibDataCompressor", 1032, unpack_zlib},
                                                           {"vtkLZ4DataCompressor", 255, unpack_lz4},
                                                           {"vtkLZMADataCompressor", 7100, unpack_lzma}});

}  // namespace

const VtkCompressor* find_vtk_compressor(std::string_view name) {
  const auto found = std::ranges::find(compressors, name, &VtkCompressor::name);
  return found == compressors.end() ? nullptr : &*found;
}

std::string vtk_compressor_names() {
  std::string names;
  for (const VtkCompressor& compressor : compressors)
    names += (names.empty() ? "" : ", ") + std::string(compressor.name);
  return names;
}

}  // namespace heelstrike::fem::io
