// Connection floods: a server that ran out of descriptors accepts clients again, and a stored run holds no descriptor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "tests/integration/attack/raw_runs.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"
#include "tests/integration/contact_service/server_process.hpp"

namespace heelstrike::testing_support {
namespace {

namespace fs = std::filesystem;

/// Idle connections.
class IdleConnections {
 public:
  IdleConnections(const std::string& address, int n) {
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < n; ++i) {
      const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&target), sizeof(target)), 0);
      sockets_.push_back(socket);
    }
  }
  ~IdleConnections() {
    for (const int socket : sockets_) ::close(socket);
  }
  IdleConnections(const IdleConnections&) = delete;
  IdleConnections& operator=(const IdleConnections&) = delete;

  /// Waits until the server has closed one of them.
  void wait_for_a_rejection() const {
    EXPECT_TRUE(cli_test::eventually([this] {
      char byte = 0;
      return std::ranges::any_of(sockets_, [&](int s) { return ::recv(s, &byte, 1, MSG_DONTWAIT) == 0; });
    }));
  }

 private:
  std::vector<int> sockets_;
};

/// Soft limit of open files of this process and of its child processes.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t soft) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{.rlim_cur = soft, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(Descriptors, IdleConnectionsDoNotBlockAServer) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  const auto early = open_contact(server.address());
  // Set without the program's knowledge, so that it runs out of descriptors instead of keeping a reserve.
  const rlimit few{.rlim_cur = 64, .rlim_max = 64};
  ASSERT_EQ(::prlimit(cli_test::children(::getpid(), "fem_server").at(0), RLIMIT_NOFILE, &few, nullptr), 0);
  {
    const IdleConnections idlers(server.address(), 80);
    idlers.wait_for_a_rejection();
    EXPECT_FALSE(bounce(*early, 3).empty()) << "connected clients are served";
  }
  EXPECT_FALSE(bounce(*open_contact(server.address()), 3).empty()) << "and others get in again";
}

TEST(Descriptors, SoftLimitIsRaisedAndConnectionsAreLimited) {
  std::unique_ptr<ServerProcess> server;
  {
    const FewDescriptors few(64);
    server = std::make_unique<ServerProcess>(std::vector<std::string>{"--max-connections", "100"},
                                             std::vector<std::string>{"127.0.0.1:0"});
  }
  const auto early = open_contact(server->address());
  {
    const IdleConnections more_than_64(server->address(), 80);
    EXPECT_FALSE(bounce(*open_contact(server->address()), 3).empty());
  }
  {
    const IdleConnections too_many(server->address(), 110);
    too_many.wait_for_a_rejection();
  }
  EXPECT_FALSE(bounce(*open_contact(server->address()), 3).empty()) << "free places are used again";
  EXPECT_TRUE(server->wait_for_log("event=connections_refused"));
}

std::ptrdiff_t n_descriptors(pid_t process) {
  return std::distance(fs::directory_iterator("/proc/" + std::to_string(process) + "/fd"), fs::directory_iterator());
}

TEST(Descriptors, StoredRunHoldsNoDescriptor) {
  const cli_test::ScratchFolder folder;
  const cli_test::ServerPair servers(folder.path());
  const std::string scenario = cli_test::ball_scenario("end_time: 0.5", "end_time: 0.002");
  RawRuns runs(servers.mbs_address);
  const auto store_one_run = [&] { EXPECT_EQ(runs.watch(runs.submit(scenario)).status(), "completed"); };
  store_one_run();
  const std::ptrdiff_t before = n_descriptors(servers.mbs->pid());
  for (int i = 0; i < 30; ++i) store_one_run();
  EXPECT_EQ(runs.count(), 31);
  // The last ones may still be closing.
  EXPECT_TRUE(cli_test::eventually([&] { return n_descriptors(servers.mbs->pid()) < before + 10; }))
      << before << " descriptors with one kept run, " << n_descriptors(servers.mbs->pid()) << " with 31";
}

}  // namespace
}  // namespace heelstrike::testing_support
