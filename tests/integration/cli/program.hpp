/// Real programs as child processes of a test, with time limits and captured output.
///
/// Every limit is for a release build; a build with sanitizers waits longer (tests/support/child_environment.hpp).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace heelstrike::cli_test {

/// A folder below the temporary folder, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes a file in it. @returns its path
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

struct Finished {
  int exit_code = -1;  ///< 128 + signal for a killed program
  std::string out;
  std::string err;
};

struct ProgramOptions {
  std::filesystem::path working_folder = "/";
  std::map<std::string, std::string> environment;  ///< added to the inherited environment
};

/// A program of this build (by name). Killed at the end of the scope if it still runs.
class Program {
 public:
  Program(const std::string& name, std::vector<std::string> arguments, const ProgramOptions& options = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Waits for the end; fails the test and kills the program when it takes longer than `limit`.
  Finished wait(std::chrono::seconds limit = std::chrono::seconds{60});
  /// Waits until stdout or stderr contains `text`. @returns false when the program ends or the time limit expires
  /// before
  bool wait_for_output(const std::string& text, std::chrono::seconds limit = std::chrono::seconds{30});
  [[nodiscard]] std::string output() const;

 private:
  void read(int descriptor, std::string& text);

  pid_t pid_ = -1;
  int pid_file_ = -1;
  bool reaped_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string out_;
  std::string err_;
  int n_open_ = 2;
  std::thread out_reader_;
  std::thread err_reader_;
};

/// Runs a program to completion.
Finished run(const std::string& name, std::vector<std::string> arguments, const ProgramOptions& options = {});

/// Polls until `condition` holds; false after `limit`.
bool eventually(const std::function<bool()>& condition, std::chrono::seconds limit = std::chrono::seconds{30});

/// Process numbers of the children of `parent` whose program is `name`.
std::vector<pid_t> children(pid_t parent, const std::string& name);
bool alive(pid_t process);

std::string read_text(const std::filesystem::path& file);

}  // namespace heelstrike::cli_test
