#include "common/process/loaded_module.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <array>
#include <system_error>
#include <utility>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"

namespace heelstrike {

std::filesystem::path module_folder() {
  namespace fs = std::filesystem;
  static const char address_in_module = 0;
  Dl_info object{};
  std::error_code error;
  fs::path file;
  if (::dladdr(&address_in_module, &object) != 0 && object.dli_fname != nullptr)
    file = fs::canonical(object.dli_fname, error);
  // For a program dladdr returns the name of the call, which may only be found through PATH.
  if (error || file.empty()) file = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : file.parent_path();
}

namespace fs = std::filesystem;

ModuleFile::ModuleFile(const char* name) : name_(name) {
  const fs::path own = module_folder();
  for (const fs::path& folder : {own, own / "heelstrike"}) {
    fs::path file = folder / name;
    descriptor_ = Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor_.get() < 0) continue;  // a program, whose folder has no libraries
    search_folder_ = std::move(file);
    return;
  }
}

fs::path ModuleFile::path() const {
  std::error_code error;
  if (descriptor_.get() >= 0) {
    const fs::path kept = fmt::format("/proc/self/fd/{}", descriptor_.get());
    const bool is_removed = fs::exists(kept, error) && !fs::equivalent(search_folder_, kept, error);
    return is_removed ? kept : search_folder_;
  }
  const fs::path own = module_folder();
  const std::array folders = {own, own / "heelstrike", own.parent_path() / "lib",
                              own.parent_path() / HEELSTRIKE_LIBDIR / "heelstrike"};
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name_, error)) return folder / name_;
  }
  throw file_error(
      name_, fmt::format("{}: expected this module in {}, {}, {} or {}, found it in none of them; install "
                         "heelstrike again",
                         name_, folders[0].string(), folders[1].string(), folders[2].string(), folders[3].string()));
}

const void* load_module(const fs::path& file, const char* function, const char* needs) {
  // Never unloaded, because libraries leave threads and handlers behind.
  void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    const char* reason = ::dlerror();
    throw file_error(file.string(),
                     fmt::format("{}: expected a loadable module, found: {}; install {} and heelstrike again",
                                 file.string(), reason == nullptr ? "no reason given" : reason, needs));
  }
  using Get = const void* (*)();
  const auto get = reinterpret_cast<Get>(::dlsym(module, function));
  if (get == nullptr) {
    throw file_error(file.string(), fmt::format("{}: expected a module with the function {}, found none; install "
                                                "heelstrike again",
                                                file.string(), function));
  }
  return get();
}

void require_same_version(const fs::path& file, std::string_view version) {
  if (version == program_version) return;
  throw Error(ErrorCode::version_mismatch,
              fmt::format("{}: expected the module of heelstrike {}, found that of {}; install heelstrike again",
                          file.string(), program_version, version));
}

}  // namespace heelstrike
