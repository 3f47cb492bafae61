#include "library/runs/installed_files.hpp"

#include "common/process/loaded_module.hpp"

namespace heelstrike {

std::filesystem::path installed_path(const std::string& name) {
  return module_folder().parent_path() / HEELSTRIKE_DATADIR / "heelstrike" / name;
}

}  // namespace heelstrike
