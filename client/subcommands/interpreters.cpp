#include "client/subcommands/interpreters.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/process/loaded_module.hpp"
#include "common/process/process.hpp"
#include "library/servers/private_folder.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

// The answer is the last line: imported packages may print as well.
constexpr const char* question = R"(import json, platform
answer = {"version": platform.python_version(), "numpy": "", "heelstrike": "", "problem": ""}
try:
    import numpy
    answer["numpy"] = numpy.__version__
except Exception:
    pass
try:
    import heelstrike
    answer["heelstrike"] = heelstrike.__version__ + " in " + heelstrike.__path__[0]
except Exception as problem:
    answer["problem"] = str(problem)
print("\n" + json.dumps(answer))
)";

constexpr std::chrono::seconds answer_time{60};  // the first import of numpy from a slow disk

}  // namespace

std::vector<fs::path> find_interpreters() {
  std::vector<fs::path> found;
  const char* path = std::getenv("PATH");
  std::istringstream folders(fmt::format("{}:/usr/bin", path != nullptr ? path : ""));
  bool is_first_of_path = true;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / "python3";
    const bool is_debian = folder == "/usr/bin";
    if (folder.empty() || (!is_first_of_path && !is_debian) || ::access(file.c_str(), X_OK) != 0) continue;
    is_first_of_path = false;
    std::error_code ignored;
    const auto is_same = [&](const fs::path& other) { return fs::equivalent(file, other, ignored); };
    if (std::ranges::none_of(found, is_same)) found.push_back(file);
  }
  return found;
}

Interpreter examine_interpreter(const fs::path& file) {
  const PrivateFolder scratch;
  const fs::path log = scratch.path() / "python.log";
  ChildProcess child({.name = "python3", .program = file, .arguments = {"-c", question}, .log = log});
  const auto end = child.ended(answer_time);
  const auto answer = nlohmann::json::parse(last_line(log), nullptr, false);
  if (!end || !end->success() || !answer.is_object()) {
    throw file_error(file.string(),
                     fmt::format("{} cannot be used: {}", file.string(),
                                 end ? fmt::format("{} ({})", last_line(log), end->text()) : "no answer in a minute"));
  }
  const auto text = [&](const char* key) { return answer.value(key, std::string()); };
  return {.file = file,
          .version = text("version"),
          .numpy = text("numpy"),
          .heelstrike = text("heelstrike"),
          .problem = text("problem")};
}

fs::path python_package_folder() {
  const fs::path programs = module_folder();
  const fs::path prefix = programs.parent_path();
  // As built, as installed, in a wheel.
  for (const fs::path& folder : {prefix / "python", prefix / "lib/python3/dist-packages", prefix.parent_path()}) {
    std::error_code ignored;
    if (fs::exists(folder / "heelstrike" / "__init__.py", ignored)) return folder;
  }
  return {};
}

}  // namespace heelstrike::client
