// Pages under clients that violate the protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "tests/integration/contact_service/server_process.hpp"
#include "tests/support/loopback.hpp"

namespace heelstrike::testing_support {
namespace {

class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback(port);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  bool send(const std::string& text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  [[nodiscard]] std::string read_all() const {
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(socket_, buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }

 private:
  int socket_;
};

TEST(Http, SlowConnectionsDoNotBlockThePage) {
  const int port = free_port();
  const ServerProcess server({"--metrics", "127.0.0.1:" + std::to_string(port)});
  std::vector<std::unique_ptr<Connection>> tricklers;
  for (int i = 0; i < 60; ++i) {
    tricklers.push_back(std::make_unique<Connection>(port));
    EXPECT_TRUE(tricklers.back()->send("GET /metrics HTTP/1.1\r\nX-Slow: "));
  }
  const Connection honest(port);
  EXPECT_TRUE(honest.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(honest.read_all(), testing::HasSubstr("heelstrike_sessions_open"));
  // A client that sends slowly is disconnected: reading ends.
  (void)tricklers.front()->read_all();
}

TEST(Http, ChunkedBodyHasALimit) {
  const int port = free_port();
  const ServerProcess server({"--metrics", "127.0.0.1:" + std::to_string(port)});
  const Connection endless(port);
  EXPECT_TRUE(endless.send("POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  int sent = 0;
  while (sent < 1000 && endless.send(chunk)) ++sent;  // 64 MiB, unless the server stops it
  EXPECT_LT(sent, 1000) << "the server reads without limit";
}

}  // namespace
}  // namespace heelstrike::testing_support
