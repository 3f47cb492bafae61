#include "client/subcommands/import_folder.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common/errors/error.hpp"
#include "common/results/output_file.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& file, const std::string& text) {
  OutputFile out(file);
  out.write(text);
  out.close();
}

fs::path write_folder(const fs::path& model, const fs::path& folder, const models::Import& import) {
  const fs::path scenario = folder / (model.stem().string() + ".yaml");
  if (fs::exists(scenario)) {
    throw input_error("output",
                      fmt::format("{}: expected a folder without a scenario of this name, found one; remove it "
                                  "or name another folder",
                                  scenario.string()));
  }
  std::error_code failure;
  fs::create_directories(folder / "meshes", failure);
  for (const auto& mesh : import.meshes) {
    if (failure || mesh.from.empty()) continue;
    fs::copy_file(mesh.from, folder / mesh.to, fs::copy_options::overwrite_existing, failure);
  }
  if (failure) {
    throw file_error(folder.string(),
                     fmt::format("{}: expected a folder to write to, found: {}", folder.string(), failure.message()));
  }
  for (const auto& mesh : import.meshes) {
    if (mesh.from.empty()) write_text(folder / mesh.to, mesh.content);
  }
  std::string missed;
  for (const std::string& line : import.not_taken) missed += line + "\n";
  write_text(folder / "NOT_IMPORTED.txt", missed);
  write_text(scenario, import.scenario);
  return scenario;
}

}  // namespace

ExitCode write_import(const fs::path& model, const fs::path& folder, const models::Import& import, bool as_json) {
  const fs::path scenario = write_folder(model, folder, import);
  if (as_json) {
    fmt::print(
        "{}\n",
        nlohmann::json{{"scenario", scenario.string()}, {"imported", import.taken}, {"not_imported", import.not_taken}}
            .dump(2));
    return ExitCode::ok;
  }
  fmt::print("{}\n\nimported:\n", scenario.string());
  for (const std::string& line : import.taken) fmt::print("  {}\n", line);
  fmt::print("\nnot imported, or in another way:\n");
  for (const std::string& line : import.not_taken) fmt::print("  {}\n", line);
  return ExitCode::ok;
}

}  // namespace heelstrike::client
