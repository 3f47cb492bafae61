#include "fem_server/fem/element_library.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "common/errors/pair_limit.hpp"
#include "common/process/loaded_module.hpp"
#include "fem_server/fem/memory_need.hpp"

namespace heelstrike::fem {

namespace {

const ModuleFile module_file(element_library_file);

/// [B] address space mapped by loading the module, including the threads of its libraries.
constexpr double mapped_by_module = 0.7e9;

void check_addresses(const std::filesystem::path& file) {
  // Checked first: a library without memory during initialisation may block forever.
  if (const double left = available_address_space(); left < mapped_by_module) {
    throw PairLimit("memory", fmt::format("memory: expected {:.1f} GB of address space to load {}, found {:.1f} GB "
                                          "available to the process; raise its limit (ulimit -v, container limit)",
                                          1e-9 * mapped_by_module, file.string(), 1e-9 * left));
  }
}

const ElementLibrary& load(const std::filesystem::path& file) {
  check_addresses(file);
  const auto* library =
      static_cast<const ElementLibrary*>(load_module(file, element_library_function, "deal.II (libdeal.ii-9.4.1)"));
  require_same_version(file, library->version);
  return *library;
}

}  // namespace

const ElementLibrary& element_library() {
  static const ElementLibrary& library = load(module_file.path());
  return library;
}

ReferenceElement make_reference_element(std::uint32_t n_nodes) {
  return element_library().reference_element(n_nodes);
}

}  // namespace heelstrike::fem
