// Messages over a separate Unix socket: complete, in order, within limits, and always equal to those of the call.
#include "rpc/message_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>

#include "heelstrike/v1/contact.pb.h"
#include "server_process.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

using rpc::MessageSocket;
using Outcome = MessageSocket::Outcome;

constexpr std::size_t limit = std::size_t{8} << 20;  // [bytes]

MessageSocket::Deadline soon() {
  return std::chrono::system_clock::now() + scaled_time_limit(std::chrono::seconds{20});
}

/// Two ends, of which one is a bare descriptor.
struct Ends {
  explicit Ends(std::size_t largest = limit) {
    int both[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both), 0);
    bare = Descriptor(both[0]);
    socket = std::make_unique<MessageSocket>(Descriptor(both[1]), largest);
  }
  void write(const std::string& bytes) const {
    ASSERT_EQ(::send(bare.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  Descriptor bare;
  std::unique_ptr<MessageSocket> socket;
};

v1::ExchangeRequest numbered(std::uint64_t sequence) {
  v1::ExchangeRequest request;
  request.set_sequence(sequence);
  return request;
}

std::string framed(const v1::ExchangeRequest& request) {
  const std::string body = request.SerializeAsString();
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + body;
}

TEST(MessageSocket, SplitsAndJoinsMessages) {
  const Ends ends;
  const std::string bytes = framed(numbered(7)) + framed(numbered(8)) + framed(numbered(9));
  v1::ExchangeRequest received;
  for (const std::size_t cut : {std::size_t{1}, std::size_t{5}, bytes.size() - 1}) {
    ends.write(bytes.substr(0, cut));
    if (cut < 5) {
      EXPECT_EQ(ends.socket->receive(received, MessageSocket::Deadline{}), Outcome::timed_out);
    }
    ends.write(bytes.substr(cut));
    for (const std::uint64_t expected : {7U, 8U, 9U}) {
      ASSERT_EQ(ends.socket->receive(received, soon()), Outcome::done) << cut;
      EXPECT_EQ(received.sequence(), expected);
    }
  }
}

TEST(MessageSocket, SimultaneousSendersDoNotDeadlock) {
  int both[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both), 0);
  MessageSocket one(Descriptor{both[0]}, limit);
  MessageSocket other(Descriptor{both[1]}, limit);
  v1::ExchangeRequest large;  // many times the socket buffers of the system
  large.add_pairs()->set_session_id(std::string(std::size_t{4} << 20, 'x'));
  const auto send_and_receive = [&](MessageSocket& socket) {
    v1::ExchangeRequest received;
    if (socket.send(large, soon()) != Outcome::done || socket.receive(received, soon()) != Outcome::done) return false;
    return received.pairs(0).session_id() == large.pairs(0).session_id();
  };
  auto there = std::async(std::launch::async, [&] { return send_and_receive(other); });
  EXPECT_TRUE(send_and_receive(one));
  EXPECT_TRUE(there.get());
}

TEST(MessageSocket, ReportsErrors) {
  v1::ExchangeRequest received;
  {
    const Ends ends(100);
    v1::ExchangeRequest large;
    large.add_pairs()->set_session_id(std::string(200, 'x'));
    ends.write(framed(large).substr(0, 10));  // the length alone is invalid
    EXPECT_EQ(ends.socket->receive(received, soon()), Outcome::too_large);
  }
  {
    Ends ends;
    ends.write(framed(numbered(7)).substr(0, 5));
    ends.bare.close();
    EXPECT_EQ(ends.socket->receive(received, soon()), Outcome::lost);
    EXPECT_EQ(ends.socket->send(numbered(1), soon()), Outcome::lost);
  }
  {
    const Ends ends;
    const std::string no_message("\x03\0\0\0\xff\xff\xff", 7);
    ends.write(no_message);
    EXPECT_EQ(ends.socket->receive(received, soon()), Outcome::lost);
  }
  {
    const Ends ends;
    auto waiting = std::async(std::launch::async, [&] {
      v1::ExchangeRequest nothing;
      return ends.socket->receive(nothing, MessageSocket::Deadline::max());
    });
    ends.socket->shut_down();
    EXPECT_EQ(waiting.get(), Outcome::lost);
  }
}

std::string socket_path(const std::string& address) {
  return rpc::message_socket_path(rpc::parse_address(address));
}

TEST(MessageSocket, ResponsesEqualThoseOfTheCallBitForBit) {
  const ServerProcess server;
  const std::string path = socket_path(server.address(1));
  ASSERT_TRUE(std::filesystem::exists(path));
  const std::string directly = bounce(*open_contact(server.address(1)), 40);
  EXPECT_EQ(directly, bounce(*open_contact(server.address(0)), 40));
  // As with a server of an older version.
  std::filesystem::remove(path);
  EXPECT_EQ(directly, bounce(*open_contact(server.address(1)), 40));
}

TEST(MessageSocket, NewServerAtTheSamePathIsFound) {
  std::string expected;
  TemporaryFolder folder;
  const std::string address = "unix:" + folder.path("fem.sock");
  {
    ServerProcess server({}, {address});
    expected = bounce(*open_contact(address), 5);
    server.signal(SIGKILL);
    server.wait();
  }
  ASSERT_TRUE(std::filesystem::exists(socket_path(address)));  // left by a terminated server
  {
    const ServerProcess server({}, {address});
    EXPECT_EQ(bounce(*open_contact(address), 5), expected);
  }
  EXPECT_FALSE(std::filesystem::exists(socket_path(address)));
}

TEST(MessageSocket, CallWithAnUnknownTicketIsRejected) {
  const ServerProcess server;
  const auto stub = server.stub(1);
  grpc::ClientContext context;
  context.AddMetadata(rpc::ticket_metadata, std::string(rpc::ticket_bytes, 'a'));
  const auto stream = stub->Exchange(&context);
  v1::ExchangeResponse reply;
  EXPECT_FALSE(stream->Read(&reply));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(status.error_message().find("no longer exists"), std::string::npos) << status.error_message();
}

TEST(MessageSocket, MessageAboveTheLimitEndsTheCallWithItsError) {
  const ServerProcess server({"--max-message-mib", "1"});
  const auto stub = server.stub(1);
  auto [socket, ticket] = rpc::connect_message_socket(rpc::parse_address(server.address(1)), limit,
                                                      scaled_time_limit(std::chrono::seconds{20}));
  ASSERT_NE(socket, nullptr);
  grpc::ClientContext context;
  context.AddMetadata(rpc::ticket_metadata, ticket);
  const auto stream = stub->Exchange(&context);
  v1::ExchangeRequest large;
  large.add_pairs()->set_session_id(std::string(std::size_t{2} << 20, 'x'));
  (void)socket->send(large, soon());
  v1::ExchangeResponse reply;
  EXPECT_FALSE(stream->Read(&reply));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("--max-message-mib"), std::string::npos) << status.error_message();
}

TEST(MessageSocket, UnusedSocketsDoNotBlockOtherClients) {
  const ServerProcess server;
  const rpc::Address address = rpc::parse_address(server.address(1));
  std::vector<rpc::TicketedSocket> unused;
  for (int i = 0; i < 100; ++i) {
    unused.push_back(rpc::connect_message_socket(address, limit, scaled_time_limit(std::chrono::seconds{20})));
    ASSERT_NE(unused.back().socket, nullptr) << i;
  }
  EXPECT_FALSE(bounce(*open_contact(server.address(1)), 5).empty());
}

}  // namespace
}  // namespace heelstrike::testing_support
