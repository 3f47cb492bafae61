#include "tests/support/child_environment.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace heelstrike::testing_support {

namespace {

namespace fs = std::filesystem;

/// Manages the folder of the reports; reads it after the last test of this process.
class SanitizerReports final : public testing::Environment {
 public:
  void TearDown() override {
    if (folder_.empty()) return;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      std::ifstream file(entry.path());
      const std::string report((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      ADD_FAILURE() << "a program started by this test was reported by its sanitizer:\n" << report;
    }
    fs::remove_all(folder_);
    folder_.clear();
  }

  /// Prefix of the report files; creates the folder at the first use.
  std::string prefix() {
    if (folder_.empty()) {
      std::string name = (fs::temp_directory_path() / "heelstrike-reports-XXXXXX").string();
      if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for sanitizer reports");
      folder_ = name;
    }
    return (folder_ / "report").string();
  }

 private:
  fs::path folder_;
};

SanitizerReports& reports() {
  // GoogleTest owns and deletes it.
  static auto* const instance =
      dynamic_cast<SanitizerReports*>(testing::AddGlobalTestEnvironment(new SanitizerReports));
  return *instance;
}

[[maybe_unused]] const SanitizerReports& registered_before_main = reports();

}  // namespace

std::vector<std::string> child_environment(const std::map<std::string, std::string>& extra) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (HEELSTRIKE_TEST_SANITIZED) {
    for (const char* options : {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
      auto& value = variables[options];
      value += (value.empty() ? "log_path=" : ":log_path=") + reports().prefix();
    }
  }
  for (const auto& [key, value] : extra) variables[key] = value;
  std::vector<std::string> entries;
  entries.reserve(variables.size());
  for (const auto& [key, value] : variables) entries.push_back(key + "=" + value);
  return entries;
}

}  // namespace heelstrike::testing_support
