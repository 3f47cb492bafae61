#include "client/runs/run_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "common/config/motion_columns.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::client {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path, const std::string& what) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw input_error(path.string(), fmt::format("{}: file {} does not exist", what, path.string()));
  }
  if (fs::is_directory(path, ignored)) {
    throw input_error(path.string(), fmt::format("{}: expected a file, found the folder {}", what, path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) {
    throw file_error(path.string(), fmt::format("{}: file {} cannot be read: {}", what, path.string(),
                                                std::generic_category().message(errno)));
  }
  return std::move(content).str();
}

std::string expand_variables(const std::string& name, const std::string& where) {
  std::string path;
  std::size_t done = 0;
  for (auto begin = name.find("${"); begin != std::string::npos; begin = name.find("${", done)) {
    const auto end = name.find('}', begin);
    if (end == std::string::npos) {
      throw input_error("file",
                        fmt::format("{}: '{}': expected '}}' after '${{', found none; write ${{NAME}}", where, name));
    }
    const std::string variable = name.substr(begin + 2, end - begin - 2);
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') {
      throw input_error("file", fmt::format("{}: '{}': expected the environment variable {}, found none; set it to the "
                                            "folder that holds the file, e.g. export {}=/folder",
                                            where, name, variable, variable));
    }
    path += name.substr(done, begin - done) + value;
    done = end + 1;
  }
  return path + name.substr(done);
}

namespace {

void change_backend(RunRequest& request, const std::string& backend, const BackendSchemas& backends) {
  if (backend.empty()) return;
  std::vector<std::string> dropped;
  request.yaml = with_backend(request.yaml, request.file_name, backend, backends, dropped);
  if (dropped.empty()) return;
  const bool one = dropped.size() == 1;
  request.notes.push_back(fmt::format("{} {} of back-end {} and {} left out", fmt::join(dropped, ", "),
                                      one ? "is not a parameter" : "are not parameters", backend,
                                      one ? "was" : "were"));
}

}  // namespace

RunRequest load_request(const fs::path& scenario, const Overrides& overrides, const BackendSchemas& backends) {
  RunRequest request;
  request.file_name = scenario.string();
  request.yaml = read_file(scenario, "scenario");
  if (!overrides.backend_last) change_backend(request, overrides.backend, backends);
  for (const std::string& assignment : overrides.assignments) {
    request.yaml = with_override(request.yaml, request.file_name, assignment);
  }
  if (overrides.backend_last) change_backend(request, overrides.backend, backends);
  request.scenario = parse_scenario(request.yaml, request.file_name, backends);
  for (const std::string& name : files_named_by(request.scenario)) {
    const fs::path path = scenario.parent_path() / expand_variables(name, request.file_name);
    request.files.push_back({name, read_file(path, request.file_name + ": file of the scenario")});
  }
  read_motion_columns(request.scenario, [&](const std::string& name) -> const std::string* {
    const auto file = std::ranges::find(request.files, name, &NamedFile::name);
    return file == request.files.end() ? nullptr : &file->content;
  });
  request.notes.insert(request.notes.end(), request.scenario.notes.begin(), request.scenario.notes.end());
  return request;
}

std::string backend_label(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const PairModel& pair : scenario.pairs) {
    if (std::find(names.begin(), names.end(), pair.spec.backend) == names.end()) names.push_back(pair.spec.backend);
  }
  return names.empty() ? "no-contact" : fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace heelstrike::client
