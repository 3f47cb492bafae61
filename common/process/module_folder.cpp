#include "common/process/module_folder.hpp"

#include <dlfcn.h>

#include <system_error>

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

}  // namespace heelstrike
