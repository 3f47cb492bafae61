#include "tests/integration/cli/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/support/child_environment.hpp"

namespace heelstrike::cli_test {

namespace fs = std::filesystem;
using testing_support::scaled_time_limit;

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "hs-cli-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name, std::ios::binary) << content;
  return (path_ / name).string();
}

Program::Program(const std::string& name, std::vector<std::string> arguments, const ProgramOptions& options) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  posix_spawn_file_actions_addchdir_np(&actions, options.working_folder.c_str());
  std::string program = (fs::path(HEELSTRIKE_BIN_DIR) / name).string();
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables = testing_support::child_environment(options.environment);
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);
  const int failure = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  if (failure != 0) throw std::runtime_error("cannot start " + program);
  pid_file_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  out_reader_ = std::thread([this, from = out[0]] { read(from, out_); });
  err_reader_ = std::thread([this, from = err[0]] { read(from, err_); });
}

Program::~Program() {
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  out_reader_.join();
  err_reader_.join();
  ::close(pid_file_);
}

void Program::read(int descriptor, std::string& text) {
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = ::read(descriptor, part.data(), part.size())) > 0;) {
    const std::scoped_lock lock(mutex_);
    text.append(part.data(), static_cast<std::size_t>(n));
    changed_.notify_all();
  }
  ::close(descriptor);
  const std::scoped_lock lock(mutex_);
  --n_open_;
  changed_.notify_all();
}

void Program::signal(int number) const {
  ::kill(pid_, number);
}

Finished Program::wait(std::chrono::seconds limit) {
  limit = scaled_time_limit(limit);
  pollfd ended{pid_file_, POLLIN, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  if (::poll(&ended, 1, static_cast<int>(milliseconds)) <= 0) {
    ADD_FAILURE() << "the program did not end within " << limit.count() << " s; output so far:\n" << output();
    ::kill(pid_, SIGKILL);
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  reaped_ = true;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, scaled_time_limit(std::chrono::seconds{10}), [this] { return n_open_ == 0; });
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out_, err_};
}

bool Program::wait_for_output(const std::string& text, std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  const auto found = [&] { return out_.find(text) != std::string::npos || err_.find(text) != std::string::npos; };
  changed_.wait_for(lock, scaled_time_limit(limit), [&] { return n_open_ == 0 || found(); });
  return found();
}

std::string Program::output() const {
  const std::scoped_lock lock(mutex_);
  return out_ + err_;
}

Finished run(const std::string& name, std::vector<std::string> arguments, const ProgramOptions& options) {
  return Program(name, std::move(arguments), options).wait();
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds limit) {
  const auto until = std::chrono::steady_clock::now() + scaled_time_limit(limit);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

std::vector<pid_t> children(pid_t parent, const std::string& name) {
  std::vector<pid_t> found;
  const std::string folder = "/proc/" + std::to_string(parent) + "/task/";
  std::error_code ignored;
  for (const auto& task : fs::directory_iterator(folder, ignored)) {
    std::istringstream list(read_text(task.path() / "children"));
    for (pid_t child = 0; list >> child;) {
      if (read_text("/proc/" + std::to_string(child) + "/comm") == name + "\n") found.push_back(child);
    }
  }
  return found;
}

bool alive(pid_t process) {
  // A zombie that its new parent has not reaped counts as terminated.
  const std::string status = read_text("/proc/" + std::to_string(process) + "/stat");
  const auto after_name = status.rfind(')');
  return after_name != std::string::npos && status.compare(after_name, 4, ") Z ") != 0;
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();  // a file of a process that ends meanwhile is empty
  return text.str();
}

}  // namespace heelstrike::cli_test
