#include "client/subcommands/stored_command.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/results/run_folder.hpp"

namespace heelstrike::client {

namespace {

namespace fs = std::filesystem;

constexpr const char* command_name = "command.json";

/// Arguments of this program without its name.
std::vector<std::string> own_arguments() {
  const std::string line = read_whole_file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::size_t at = line.find('\0') + 1; at < line.size(); at = line.find('\0', at) + 1) {
    arguments.push_back(line.substr(at, line.find('\0', at) - at));
  }
  return arguments;
}

/// Names the folder explicitly: it may have been moved, and a comparison without -o would create a new one.
std::vector<std::string> with_folder(const std::vector<std::string>& arguments, const fs::path& folder) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-o" || argument == "--output") {
      ++i;
    } else if (!argument.starts_with("--output=") && !(argument.starts_with("-o") && argument.size() > 2) &&
               argument != "--resume" && argument != "--force") {
      result.push_back(argument);
    }
  }
  // What follows "--" are no options.
  result.insert(std::ranges::find(result, "--"), {"-o", fs::absolute(folder).string()});
  if (result.front() == "compare") result.emplace_back("--resume");
  return result;
}

}  // namespace

void store_command(const fs::path& folder) {
  const nlohmann::ordered_json json = {{"working_folder", fs::current_path().string()}, {"arguments", own_arguments()}};
  write_whole_file(folder / command_name,
                   json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

bool has_command(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / command_name, ignored);
}

void repeat_command(const fs::path& folder) {
  const fs::path file = folder / command_name;
  std::vector<std::string> texts;
  fs::path working_folder;
  try {
    const auto json = nlohmann::json::parse(read_whole_file(file));
    texts = with_folder(json.at("arguments").get<std::vector<std::string>>(), folder);
    working_folder = json.at("working_folder").get<std::string>();
  } catch (const nlohmann::json::exception& e) {
    throw file_error(file.string(),
                     fmt::format("{}: expected the command that created this folder, found: {}; repeat the "
                                 "command manually",
                                 file.string(), e.what()));
  }
  std::error_code failure;
  fs::current_path(working_folder, failure);
  if (!failure) {
    texts.insert(texts.begin(), "heelstrike");
    std::vector<char*> arguments;
    for (std::string& text : texts) arguments.push_back(text.data());
    arguments.push_back(nullptr);
    ::execv("/proc/self/exe", arguments.data());
    failure = {errno, std::generic_category()};
  }
  throw file_error(file.string(), fmt::format("{}: the command that created this folder cannot be repeated from {}: {}",
                                              file.string(), working_folder.string(), failure.message()));
}

namespace {

bool has_scenario(const fs::path& run, const std::string& yaml) {
  std::error_code ignored;
  return fs::exists(run / "scenario.yaml", ignored) && read_whole_file(run / "scenario.yaml") == yaml;
}

}  // namespace

bool is_done(const fs::path& run, const std::string& yaml) {
  return fs::exists(run / "summary.json") && incomplete_reason(run).empty() && has_scenario(run, yaml);
}

bool can_resume(const fs::path& run, const std::string& yaml) {
  if (incomplete_reason(run).empty() || !has_scenario(run, yaml)) return false;
  std::error_code none;
  fs::directory_iterator checkpoints(run / "checkpoints", none);
  return !none && std::any_of(begin(checkpoints), end(checkpoints),
                              [](const auto& entry) { return entry.path().extension() == ".ckpt"; });
}

}  // namespace heelstrike::client
