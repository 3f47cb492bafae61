// libFuzzer target for one mesh format, given by the environment variable HEELSTRIKE_FUZZ_FORMAT: stl, msh, ... For any
// bytes, a reader returns a mesh or throws Error{invalid_input, limit}; the mesh also passes through the checks without
// a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/errors/error.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/volume_check.hpp"

namespace {

std::string format_of_run() {
  const char* format = std::getenv("HEELSTRIKE_FUZZ_FORMAT");
  if (format == nullptr) std::abort();
  return format;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heelstrike::fem;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadOptions options;
  options.name = "input";
  static const std::string format = format_of_run();
  options.format = format;
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
