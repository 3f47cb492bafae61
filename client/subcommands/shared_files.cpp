#include "client/subcommands/shared_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "library/runs/installed_files.hpp"

namespace heelstrike::client {

namespace fs = std::filesystem;

fs::path shared_folder(const std::string& name) {
  fs::path folder = installed_path(name);
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder;
  throw file_error(folder.string(), fmt::format("expected the folder {}, found none; it is part of an installation: "
                                                "install heelstrike again",
                                                folder.string()));
}

std::string with_schema_line(const std::string& scenario) {
  constexpr std::string_view mark = "# yaml-language-server:";
  const bool has_line = scenario.starts_with(mark);
  return fmt::format("{} $schema={}\n{}", mark, installed_path("scenario.schema.json").string(),
                     has_line ? scenario.substr(scenario.find('\n') + 1) : scenario);
}

void check_new_files(const std::vector<fs::path>& paths, bool force) {
  std::error_code ignored;
  std::vector<std::string> existing;
  for (const fs::path& path : paths) {
    if (fs::exists(path, ignored)) existing.push_back(path.lexically_normal().string());
  }
  if (existing.empty() || force) return;
  throw file_error(existing.front(),
                   fmt::format("expected no file named {}, found it; use another folder or name (-o), "
                               "or replace it with --force",
                               fmt::join(existing, ", ")));
}

void write_new_files(const std::map<fs::path, std::string>& contents, bool force) {
  std::vector<fs::path> paths;
  for (const auto& [path, content] : contents) paths.push_back(path);
  check_new_files(paths, force);
  for (const auto& [path, content] : contents) {
    std::error_code ignored;  // write_whole_file reports a folder that cannot be used
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
    write_whole_file(path, content);
  }
}

}  // namespace heelstrike::client
