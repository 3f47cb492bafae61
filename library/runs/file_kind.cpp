#include "library/runs/file_kind.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "library/runs/installed_files.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;

/// `{}` in the advice is the name of the file.
struct FileKind {
  std::string_view endings;  ///< between blanks
  std::string_view mark;     ///< contained in its first bytes; empty = the ending suffices
  std::string_view what;
  std::string_view advice;
};

constexpr std::size_t inspected_bytes = 4096;

constexpr auto table_advice =
    "a scenario names it under `motion`, in a driver, or in a load: heelstrike schema motion, heelstrike schema table";

constexpr std::array<FileKind, 12> kinds = {{
    {" .stl .obj .ply .vtp .dae .vtk .vtu .msh .inp ", "", "a mesh",
     "heelstrike mesh {0} checks it, and fills it with tetrahedra (--size); heelstrike new KIND {0} writes a scenario "
     "for it (kinds: heelstrike new --help)"},
    {" .osim ", "", "an OpenSim model", "heelstrike import-osim {} -o FOLDER converts it to a scenario"},
    {" .urdf ", "", "a robot model (URDF)", "heelstrike import {} -o FOLDER converts it to a scenario"},
    {" .xml .mjcf ", "<mujoco", "a robot model (MJCF)", "heelstrike import {} -o FOLDER converts it to a scenario"},
    {" .xml ", "<robot", "a robot model (URDF)", "heelstrike import {} -o FOLDER converts it to a scenario"},
    {" .xml ", "<OpenSimDocument", "an OpenSim model", "heelstrike import-osim {} -o FOLDER converts it to a scenario"},
    {" .c3d ", "", "a recorded trial", "heelstrike import {} -o FOLDER writes its motion files"},
    {" .mot .sto .trc .csv ", "", "a table of motion, forces or results", table_advice},
    {" .fmu ", "", "a functional mock-up unit", "a scenario names it in a force: heelstrike schema fmu"},
    {" .h5 .hdf5 ", "", "a file of results (HDF5)",
     "read it with h5py or MATLAB; the columns are in docs/guide/results.md"},
    {" .html .svg .png .pdf ", "", "a page or picture", "open it in a browser"},
    {" .pvd ", "", "a series of fields", "open it in ParaView"},
}};

std::string first_bytes(const fs::path& path) {
  std::string bytes(inspected_bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool has_file(const fs::path& folder, const char* name) {
  std::error_code ignored;
  return fs::exists(folder / name, ignored);
}

bool has_scenario_ending(const fs::path& file) {
  return file.extension() == ".yaml" || file.extension() == ".yml";
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Scenario files of a folder, in the order of their names.
std::vector<std::string> scenarios_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (has_scenario_ending(entry.path())) names.push_back(entry.path().string());
  }
  std::ranges::sort(names);
  return names;
}

/// A scenario beside the missing file `path` whose name differs in its ending or a few letters; empty without one.
fs::path similar_scenario(const fs::path& path) {
  const std::vector<std::string> files = scenarios_in(folder_of(path));
  std::vector<std::string> stems;
  for (const std::string& file : files) stems.push_back(fs::path(file).stem().string());
  const auto near = nearest_name(path.stem().string(), stems);
  if (!near) return {};
  const auto index = static_cast<std::size_t>(std::ranges::find(stems, *near) - stems.begin());
  return path.parent_path() / fs::path(files[index]).filename();
}

[[noreturn]] void throw_missing(const fs::path& path) {
  std::string advice;
  std::error_code ignored;
  const std::string stem = path.stem().string();
  if (const fs::path similar = similar_scenario(path); !similar.empty()) {
    advice = fmt::format("; did you mean {}?", similar.string());
  } else if (fs::exists(installed_path("examples") / (stem + ".yaml"), ignored)) {
    advice = fmt::format("; heelstrike example {} copies the example of this name", stem);
  }
  throw input_error(path.string(), fmt::format("scenario: file {} does not exist{}", path.string(), advice));
}

std::string folder_description(const fs::path& folder) {
  const std::string name = folder.string();
  if (has_file(folder, "INCOMPLETE")) {
    return fmt::format("{}, the folder of an incomplete run; heelstrike resume {} continues it", name, name);
  }
  if (has_file(folder, "command.json")) {
    return fmt::format(
        "{}, the folder of a comparison or sweep; heelstrike report {} writes its page, heelstrike "
        "resume {} continues it",
        name, name, name);
  }
  if (has_file(folder, "scenario.yaml")) {
    return fmt::format(
        "{}, the folder of a run; heelstrike report {} writes its page, heelstrike run {} repeats the "
        "run",
        name, name, (folder / "scenario.yaml").string());
  }
  constexpr std::size_t shown = 5;
  std::vector<std::string> names = scenarios_in(folder);
  if (names.size() > shown) names.resize(shown);
  return names.empty() ? fmt::format("the folder {}; name a scenario file (YAML)", name)
                       : fmt::format("the folder {}; name a scenario in it: {}", name, fmt::join(names, ", "));
}

/// JSON is YAML, too: only files that a run writes are excluded.
bool is_result_in_json(const fs::path& path) {
  constexpr std::array<std::string_view, 5> names = {"summary.json", "timing.json", "comparison.json", "command.json",
                                                     "sweep.json"};
  return std::ranges::find(names, path.filename().string()) != names.end();
}

}  // namespace

std::string description_if_no_scenario(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return folder_description(path);
  if (!fs::is_regular_file(path, ignored)) return {};
  if (is_result_in_json(path)) {
    return fmt::format("{}, a file of results; heelstrike report {} writes the page of the folder", path.string(),
                       folder_of(path).string());
  }
  std::string ending = path.extension();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending.empty()) return {};
  for (const FileKind& kind : kinds) {
    if (kind.endings.find(" " + ending + " ") == std::string_view::npos) continue;
    if (!kind.mark.empty() && first_bytes(path).find(kind.mark) == std::string::npos) continue;
    return fmt::format("{}, {}; {}", path.string(), kind.what, fmt::format(fmt::runtime(kind.advice), path.string()));
  }
  return {};
}

void require_scenario_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::status(path, ignored).type() == fs::file_type::not_found) throw_missing(path);
  if (const std::string other = description_if_no_scenario(path); !other.empty()) {
    throw input_error("scenario", fmt::format("expected a scenario file (YAML), found {}", other));
  }
}

void require_run_folder(const fs::path& path) {
  std::error_code ignored;
  if (fs::status(path, ignored).type() == fs::file_type::not_found) {
    throw file_error(path.string(), fmt::format("expected the folder of a run, found no folder {}; name a folder that "
                                                "`heelstrike run` wrote",
                                                path.string()));
  }
  if (!fs::is_regular_file(path, ignored)) return;
  const fs::path folder = folder_of(path);
  std::string found = fmt::format("the file {}", path.string());
  if (has_file(folder, "scenario.yaml") || has_file(folder, "comparison.json")) {
    found += fmt::format("; its folder is {}", folder.string());
  } else if (has_scenario_ending(path)) {
    found = fmt::format("{}, a scenario; heelstrike run {} makes the run first", path.string(), path.string());
  } else if (const std::string other = description_if_no_scenario(path); !other.empty()) {
    found = other;
  }
  throw file_error(path.string(), fmt::format("expected the folder of a run, found {}", found));
}

}  // namespace heelstrike
