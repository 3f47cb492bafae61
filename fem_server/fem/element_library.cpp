#include "fem_server/fem/element_library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <system_error>
#include <utility>

#include "common/config/version.hpp"
#include "common/errors/error.hpp"
#include "common/process/descriptor.hpp"
#include "common/process/own_folder.hpp"
#include "fem_server/fem/addresses_left.hpp"

namespace heelstrike::fem {

namespace {

namespace fs = std::filesystem;

/// The module of the shared library that this code is part of, held open from the moment the library is loaded: the
/// loader keeps a library whose folder is removed, as that of a functional mock-up unit, and the module has to be had
/// then, too.
struct KeptModule {
  fs::path file;
  Descriptor descriptor;
};

KeptModule keep_module() {
  const fs::path own = own_folder();
  for (const fs::path& folder : {own, own / "heelstrike"}) {
    fs::path file = folder / element_library_file;
    if (Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC)); descriptor.get() >= 0) {
      return {std::move(file), std::move(descriptor)};
    }
  }
  return {.file = {}, .descriptor = Descriptor()};  // in a program, whose folder has no libraries
}

const KeptModule kept_module = keep_module();

fs::path module_file() {
  std::error_code error;
  if (kept_module.descriptor.get() >= 0) {
    const fs::path kept = fmt::format("/proc/self/fd/{}", kept_module.descriptor.get());
    const bool has_gone = fs::exists(kept, error) && !fs::equivalent(kept_module.file, kept, error);
    return has_gone ? kept : kept_module.file;
  }
  const fs::path own = own_folder();
  // Beside the shared library that this code is part of (as built, or in a functional mock-up unit); below its folder
  // (as installed); from a program's folder to that of the libraries (as built, as installed).
  const std::array folders = {own, own / "heelstrike", own.parent_path() / "lib",
                              own.parent_path() / HEELSTRIKE_LIBDIR / "heelstrike"};
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / element_library_file, error)) return folder / element_library_file;
  }
  throw file_error(element_library_file,
                   fmt::format("{}: expected the module with the finite elements in {}, {}, {} or {}, found it in none "
                               "of them; install heelstrike again",
                               element_library_file, folders[0].string(), folders[1].string(), folders[2].string(),
                               folders[3].string()));
}

/// [B] that loading the module maps, with the threads of its libraries.
constexpr double mapped_by_module = 0.7e9;

void check_addresses(const fs::path& file) {
  // Asked before: a library that finds no memory while it starts may wait for it for ever.
  if (const double left = addresses_left(); left < mapped_by_module) {
    throw limit_error("memory",
                      fmt::format("memory: expected {:.1f} GB of addresses to load {}, found that the process "
                                  "can have {:.1f} GB more; give it more (ulimit -v, the container's limit)",
                                  1e-9 * mapped_by_module, file.string(), 1e-9 * left));
  }
}

const ElementLibrary& load(const fs::path& file) {
  check_addresses(file);
  // Never unloaded: deal.II leaves threads and handlers behind. Its names stay its own.
  void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    const char* reason = ::dlerror();
    throw file_error(file.string(), fmt::format("{}: expected a module that can be loaded, found: {}; install deal.II "
                                                "(libdeal.ii-9.4.1) and heelstrike again",
                                                file.string(), reason == nullptr ? "no reason given" : reason));
  }
  using Get = const ElementLibrary* (*)();
  const auto get = reinterpret_cast<Get>(::dlsym(module, element_library_function));
  if (get == nullptr) {
    throw file_error(file.string(), fmt::format("{}: expected a module with the function {}, found none; install "
                                                "heelstrike again",
                                                file.string(), element_library_function));
  }
  const ElementLibrary& library = *get();
  if (library.version != program_version) {
    throw Error(ErrorCode::version_mismatch,
                fmt::format("{}: expected the module of heelstrike {}, found that of {}; install heelstrike again",
                            file.string(), program_version, library.version));
  }
  return library;
}

}  // namespace

const ElementLibrary& element_library() {
  static const ElementLibrary& library = load(module_file());
  return library;
}

ReferenceElement make_reference_element(std::uint32_t n_nodes) {
  return element_library().reference_element(n_nodes);
}

}  // namespace heelstrike::fem
