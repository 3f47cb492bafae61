// Servers under limits of the operating system: each runs, or reports the limit, and stops regularly.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "rpc/channel.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/contact_service/raw_calls.hpp"
#include "tests/integration/contact_service/server_process.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

using cli_test::eventually;
using cli_test::read_text;
using testing::HasSubstr;

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
  [[nodiscard]] std::string log() const { return read_text(log_); }
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

/// From the smallest address space that loads its libraries to one that is sufficient.
class AddressSpace : public testing::TestWithParam<int> {};

TEST_P(AddressSpace, ServerRunsOrReportsTheLimitAndExits) {
  if (HEELSTRIKE_TEST_TIME_FACTOR > 1) GTEST_SKIP() << "a sanitizer needs additional address space";
  for (const std::string name : {"fem_server", "mbs_server"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const std::vector<std::string> arguments = name == "fem_server"
                                                   ? std::vector<std::string>{"--cache-dir", ""}
                                                   : std::vector<std::string>{"--spool", folder.path("spool")};
    LimitedServer server(name, arguments, static_cast<rlim_t>(GetParam()) << 20U);
    ASSERT_TRUE(
        eventually([&] { return server.ended() || server.log().find("event=listening") != std::string::npos; }));
    if (server.ended()) {
      if (server.log().find("error while loading shared libraries") != std::string::npos) continue;
      EXPECT_EQ(server.end(), "exit code 3") << server.log();
      EXPECT_THAT(server.log(), HasSubstr("event=failed"));
      EXPECT_THAT(server.log(), HasSubstr("code=\"limit reached\""));
      continue;
    }
    EXPECT_EQ(check_health(rpc::make_channel({.address = server.address(), .tls = {}}), ""), "SERVING");
    server.signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return server.ended(); }, std::chrono::seconds{10})) << server.log();
    EXPECT_EQ(server.end(), "exit code 0") << server.log();
  }
}

INSTANTIATE_TEST_SUITE_P(Mebibytes, AddressSpace,
                         testing::Values(350, 450, 550, 600, 650, 700, 750, 800, 850, 900, 1000, 1200),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace heelstrike::testing_support
