// Operation of a server: listening, health, metrics, drain, clear failures, no residual files.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "common/errors/error.hpp"
#include "raw_calls.hpp"
#include "rpc/server/ready_line.hpp"
#include "server_process.hpp"
#include "tests/support/child_environment.hpp"
#include "tests/support/loopback.hpp"

namespace heelstrike::testing_support {
namespace {

constexpr char service_name[] = "heelstrike.v1.ContactService";

std::string http_get(int port, const std::string& path) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  std::string page;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    (void)::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t n = ::read(socket, buffer, sizeof(buffer)); n > 0; n = ::read(socket, buffer, sizeof(buffer))) {
      page.append(buffer, static_cast<std::size_t>(n));
    }
  }
  ::close(socket);
  return page;
}

/// Value of a metric without labels, or of the line that begins with `name`.
double metric(const std::string& page, const std::string& name) {
  const auto line = page.find("\n" + name + " ");
  return line == std::string::npos ? -1.0 : std::stod(page.substr(line + name.size() + 2));
}

std::shared_ptr<grpc::Channel> channel_to(const std::string& address) {
  return rpc::make_channel({.address = address, .tls = {}});
}

TEST(Operation, HealthAndReflectionRespondOnBothListeners) {
  const ServerProcess server;
  for (const auto& address : server.addresses()) {
    EXPECT_EQ(check_health(channel_to(address), ""), "SERVING") << address;
    EXPECT_EQ(check_health(channel_to(address), service_name), "SERVING") << address;
    const std::string services = list_services(channel_to(address));
    EXPECT_NE(services.find(service_name), std::string::npos) << address << ": " << services;
    EXPECT_NE(services.find("grpc.health.v1.Health"), std::string::npos) << services;
  }
}

TEST(Operation, TermDrainsFinishesRunningWorkAndLeavesNothing) {
  ServerProcess server({"--drain-timeout", "25"});
  auto contact = open_contact(server.address(1));
  bounce(*contact, 5);
  HealthWatch health(channel_to(server.address()), service_name);
  ASSERT_EQ(health.next(), "SERVING");
  server.signal(SIGTERM);
  ASSERT_EQ(health.next(), "NOT_SERVING");
  ASSERT_TRUE(server.wait_for_log("event=stop ")) << server.log();
  try {
    // New sessions are rejected as soon as the drain has begun, which may be shortly after the health changed.
    for (int i = 0; i < 1000; ++i) open_contact(server.address());
    ADD_FAILURE() << "new sessions are taken while draining";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
  }
  Response response[1];
  const PairState state[] = {ball_at(0.01, 0.0999, 1.0)};
  contact->evaluate(6, 0, state, response);
  contact->commit(6, state, response);
  contact.reset();
  EXPECT_EQ(server.wait(), 0) << server.log();
  EXPECT_NE(server.log().find("result=idle"), std::string::npos) << server.log();
  EXPECT_FALSE(std::filesystem::exists(server.folder().path("fem.sock")));
}

// Repeated stop signals, also during the exit of the process, give a regular end every time.
TEST(Operation, RepeatedStopSignalsEndRegularly) {
  for (const int number : {SIGTERM, SIGINT, SIGTERM}) {
    ServerProcess server;
    EXPECT_EQ(server.wait(number), 0) << server.log();
  }
}

TEST(Operation, DrainEndsAfterItsTimeoutWithATypedErrorForTheRun) {
  ServerProcess server({"--drain-timeout", "0.1"});
  const auto contact = open_contact(server.address());
  bounce(*contact, 5);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0) << server.log();
  try {
    Response response[1];
    const PairState state[] = {ball_at(0.01, 0.0999, 1.0)};
    contact->evaluate(6, 0, state, response);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
  }
}

TEST(Operation, MetricsCountEvents) {
  const int port = free_port();
  const ServerProcess server({"--metrics", "127.0.0.1:" + std::to_string(port)});
  const auto contact = open_contact(server.address());
  bounce(*contact, 9);
  Response response[1];
  const PairState state[] = {ball_at(0.0, 0.1, 1.0)};
  EXPECT_THROW(contact->commit(77, state, response), Error);
  const std::string page = http_get(port, "/metrics");
  EXPECT_EQ(metric(page, "heelstrike_sessions_open"), 1.0) << page;
  EXPECT_EQ(metric(page, "heelstrike_sessions_opened_total"), 1.0);
  EXPECT_EQ(metric(page, "heelstrike_exchange_streams_open"), 1.0);
  EXPECT_EQ(metric(page, "heelstrike_evaluations_total"), 20.0);
  EXPECT_EQ(metric(page, "heelstrike_commits_total"), 10.0);
  EXPECT_EQ(metric(page, "heelstrike_errors_total{code=\"out_of_order\"}"), 1.0);
  EXPECT_EQ(metric(page, "heelstrike_evaluation_seconds_count"), 20.0);
  EXPECT_NE(page.find("heelstrike_evaluation_seconds_bucket{le=\"1e-05\"}"), std::string::npos) << page;
}

TEST(Operation, AddressInUseIsReportedWithItsExitCode) {
  const ServerProcess server;
  for (const auto& address : server.addresses()) {
    const auto [code, output] = run_server({"--listen", address});
    EXPECT_EQ(code, 3) << output;
    EXPECT_NE(output.find(address), std::string::npos) << output;
    EXPECT_NE(output.find("in use"), std::string::npos) << output;
  }
  EXPECT_FALSE(bounce(*open_contact(server.address(1)), 3).empty());  // the first server is unaffected
}

TEST(Operation, StaleSocketIsReplacedButOtherFilesAreKept) {
  const TemporaryFolder folder;
  const std::string path = folder.path("fem.sock");
  {
    ServerProcess killed({}, {"unix:" + path});
    killed.signal(SIGKILL);
    killed.wait();
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  {
    const ServerProcess next({}, {"unix:" + path});
    EXPECT_FALSE(bounce(*open_contact(next.address()), 3).empty());
  }
  std::filesystem::remove(path);
  std::ofstream(path) << "precious";
  const auto [code, output] = run_server({"--listen", "unix:" + path});
  EXPECT_EQ(code, 2) << output;
  EXPECT_NE(output.find("not a socket"), std::string::npos) << output;
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(Operation, InvalidOptionsEndWithTheUsageCode) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("bad.yaml")) << "max-sesions: 3\n";
  const std::vector<std::vector<std::string>> commands = {
      {"--listen", "nonsense"},
      {"--no-such-option"},
      {"--tls-cert", "/nonexistent", "--tls-key", "/nonexistent", "--listen", "127.0.0.1:0"},
      {"--tls-cert", "/nonexistent", "--listen", "127.0.0.1:0"},
      {"--assets-folder", "/nonexistent", "--listen", "127.0.0.1:0"},
      {"--config", folder.path("bad.yaml")}};
  for (const auto& arguments : commands) {
    const auto [code, output] = run_server(arguments);
    EXPECT_EQ(code, 2) << testing::PrintToString(arguments) << output;
    EXPECT_FALSE(output.empty()) << testing::PrintToString(arguments);
  }
  EXPECT_EQ(run_server({"--version"}).exit_code, 0);
  EXPECT_EQ(run_server({"--help"}).exit_code, 0);
}

TEST(Operation, ConfigurationFileEqualsTheOptions) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("fem.yaml")) << "max-sessions: 1\nidle-timeout: 60\n";
  const ServerProcess server({"--config", folder.path("fem.yaml"), "--ready-file", folder.path("ready")});
  std::ifstream ready(folder.path("ready"));
  std::string line;
  std::getline(ready, line);
  EXPECT_EQ(rpc::parse_ready_line(line), server.addresses());
  const auto contact = open_contact(server.address());
  EXPECT_THROW(open_contact(server.address()), Error);
}

// In a container the parent may be process 1 from the start, which does not indicate a terminated parent.
TEST(Operation, OrphanWatchingItsParentKeepsServing) {
  const TemporaryFolder folder;
  const std::string ready = folder.path("ready");
  const std::string program = std::string(HEELSTRIKE_BIN_DIR) + "/fem_server";
  // The subshell starts the server after the shell has exited, and therefore under its new parent.
  const std::string script = "( while [ -e /proc/$$ ]; do :; done; exec " + program +
                             " --exit-with-parent --listen unix:" + folder.path("fem.sock") + " --ready-file " + ready +
                             " ) > " + folder.path("log") + " 2>&1 & echo $! > " + folder.path("pid");
  ASSERT_EQ(std::system(script.c_str()), 0);
  const auto until = std::chrono::steady_clock::now() + scaled_time_limit(std::chrono::seconds{30});
  while (!std::filesystem::exists(ready) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  ASSERT_TRUE(std::filesystem::exists(ready));
  const auto contact = open_contact("unix:" + folder.path("fem.sock"));
  EXPECT_FALSE(bounce(*contact, 3).empty());
  pid_t server = 0;
  std::ifstream(folder.path("pid")) >> server;
  ASSERT_GT(server, 1);
  EXPECT_EQ(::kill(server, SIGKILL), 0) << "the server ended by itself";
}

TEST(Operation, LogNamesTheRunOnOneLine) {
  const ServerProcess server;
  const PairSpec pairs[] = {ball_on_ground("a\nb")};
  const auto contact = rpc::open_remote_contact({.endpoint = {.address = server.address(), .tls = {}}})(
      pairs, {}, {.run_id = "run-7\nlevel=error", .on_progress = {}, .stop = {}});
  ASSERT_TRUE(server.wait_for_log("event=session_opened")) << server.log();
  EXPECT_NE(server.log().find("run=run-7_level=error"), std::string::npos) << server.log();
  EXPECT_NE(server.log().find("pair=a_b"), std::string::npos) << server.log();
}

}  // namespace
}  // namespace heelstrike::testing_support
