// libFuzzer target for one mesh format: HEELSTRIKE_FUZZ_FORMAT is "stl", "msh", ... Whatever the bytes, a reader
// answers with a mesh or with Error{invalid_input, limit}; what was read must also survive the checks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/errors/error.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/volume_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heelstrike::fem;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadOptions options;
  options.name = "input";
  options.format = HEELSTRIKE_FUZZ_FORMAT;
  options.limits = {.max_nodes = 2000, .max_elements = 2000, .max_unpacked_bytes = 1 << 20};
  const bool surface =
      options.format == "stl" || options.format == "obj" || options.format == "ply" || options.format == "vtp";
  try {
    if (surface) {
      (void)check_surface(read_surface(bytes, options));
    } else {
      (void)check_volume(read_volume(bytes, options));
    }
  } catch (const heelstrike::Error& error) {
    const auto code = error.code();
    if (code != heelstrike::ErrorCode::invalid_input && code != heelstrike::ErrorCode::limit) std::abort();
  }
  return 0;
}
