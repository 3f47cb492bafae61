/// A server program under a limit of the operating system.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/contact_service/server_process.hpp"

namespace heelstrike::testing_support {

/// A server program with a limited address space.
class LimitedServer {
 public:
  LimitedServer(const std::string& name, const std::vector<std::string>& arguments, rlim_t bytes)
      : program_(std::string(HEELSTRIKE_BIN_DIR) + "/" + name), log_(folder_.path("log")) {
    texts_.push_back(program_);
    texts_.insert(texts_.end(), arguments.begin(), arguments.end());
    texts_.insert(texts_.end(), {"--listen", address()});
    std::vector<char*> argv;
    for (std::string& text : texts_) argv.push_back(text.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
    const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (::setrlimit(RLIMIT_AS, &limit) != 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) ::_exit(98);
    ::execv(program_.c_str(), argv.data());
    ::_exit(99);
  }
  ~LimitedServer() {
    if (!ended_) ::kill(pid_, SIGKILL);
    if (!ended_) ::waitpid(pid_, &status_, 0);
  }
  LimitedServer(const LimitedServer&) = delete;
  LimitedServer& operator=(const LimitedServer&) = delete;

  [[nodiscard]] std::string address() const { return "unix:" + folder_.path("server.sock"); }
  [[nodiscard]] std::string log() const { return cli_test::read_text(log_); }
  void signal(int number) const { ::kill(pid_, number); }
  /// Whether it has ended, without waiting.
  bool ended() {
    ended_ = ended_ || ::waitpid(pid_, &status_, WNOHANG) == pid_;
    return ended_;
  }
  [[nodiscard]] std::string end() const {
    if (WIFSIGNALED(status_)) return "signal " + std::to_string(WTERMSIG(status_));
    return "exit code " + std::to_string(WEXITSTATUS(status_));
  }

 private:
  TemporaryFolder folder_;
  std::string program_;
  std::string log_;
  std::vector<std::string> texts_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace heelstrike::testing_support
