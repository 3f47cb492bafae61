#include "common/process/version.hpp"
#include "fem_server/fem/dealii/elastic_space.hpp"
#include "fem_server/fem/dealii/lowest_modes.hpp"
#include "fem_server/fem/dealii/reference_element.hpp"
#include "fem_server/fem/element_library.hpp"

extern "C" __attribute__((visibility("default"))) const heelstrike::fem::ElementLibrary* heelstrike_element_library() {
  using namespace heelstrike::fem;
  static constexpr ElementLibrary library{.version = heelstrike::program_version,
                                          .reference_element = tabulated_reference_element,
                                          .body_cells = serial_cells,
                                          .lowest_modes = arpack_lowest_modes};
  return &library;
}
