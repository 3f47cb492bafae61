// Parts of the RPC library that need no server.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <stop_token>
#include <thread>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "rpc/address.hpp"
#include "rpc/call.hpp"
#include "rpc/channel.hpp"
#include "rpc/contact_sessions.hpp"
#include "rpc/server/connection_acceptor.hpp"
#include "rpc/server/ready_line.hpp"
#include "rpc/server/stream_slots.hpp"

namespace heelstrike::rpc {
namespace {

TEST(Address, BothFormsRoundTrip) {
  for (const std::string text : {"unix:/run/x.sock", "127.0.0.1:50051", "fem:0", "[::1]:80"}) {
    EXPECT_EQ(parse_address(text).text(), text);
  }
  EXPECT_EQ(parse_address("[::1]:80").host, "::1");
}

TEST(Address, InvalidFormIsRejectedWithAnExample) {
  for (const std::string text :
       {"", "host", ":1", "host:", "host:99999", "host:-1", "host:1x", "unix:relative", "unix:", "http://host:1"}) {
    try {
      const Address address = parse_address(text);
      ADD_FAILURE() << "'" << text << "' was accepted as " << address.text();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("127.0.0.1:50051"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW((void)parse_address("unix:/" + std::string(200, 'x')), Error);
}

TEST(LatencyHistogram, QuantilesAreWithinABucket) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.record(std::chrono::microseconds(i));
  EXPECT_EQ(histogram.count(), 1000);
  // A bucket is 1/16 of an octave wide; its middle has an error of at most 1/32 = 3.2 % of the octave's start.
  EXPECT_NEAR(histogram.quantile_us(0.5), 500.0, 0.032 * 512.0);
  EXPECT_NEAR(histogram.quantile_us(0.99), 990.0, 0.032 * 1024.0);
  EXPECT_EQ(LatencyHistogram().quantile_us(0.5), 0.0);
}

TEST(ReadyLine, AddressesRoundTrip) {
  const std::string addresses[] = {"127.0.0.1:1", "unix:/tmp/with space.sock"};
  const auto back = parse_ready_line(format_ready_line(addresses));
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0], addresses[0]);
  EXPECT_EQ(back[1], addresses[1]);
}

TEST(Digest, MatchesThePublishedVectors) {
  // FIPS 180-4 examples.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Call, OnlyALostConnectionIsRepeatedUntilTheTimeout) {
  int attempts = 0;
  const auto response = [&](grpc::StatusCode code, const std::string& text) {
    return [&attempts, code, text](grpc::ClientContext&) {
      ++attempts;
      return grpc::Status(code, text);
    };
  };
  const CallOptions patient{.reconnect_timeout = std::chrono::milliseconds{100}};
  EXPECT_THROW(call("X", patient, response(grpc::UNAVAILABLE, "")), Error);
  EXPECT_GT(attempts, 2) << "pauses of 20, 40 and 40 ms";
  const auto final = [&](grpc::StatusCode code, const std::string& text) {
    attempts = 0;
    EXPECT_THROW(call("X", patient, response(code, text)), Error);
    return attempts == 1;
  };
  EXPECT_TRUE(final(grpc::DEADLINE_EXCEEDED, ""));
  EXPECT_TRUE(final(grpc::INTERNAL, "cannot be read"));
  EXPECT_TRUE(final(grpc::RESOURCE_EXHAUSTED, "larger than max"));
  EXPECT_FALSE(final(grpc::INTERNAL, "Received RST_STREAM with error code 2"));
  attempts = 0;
  EXPECT_THROW(call("X", {}, response(grpc::UNAVAILABLE, "")), Error);
  EXPECT_EQ(attempts, 1) << "without patience nothing is repeated";
}

TEST(Call, StopEndsTheRetries) {
  std::stop_source stop;
  const CallOptions endless{.reconnect_timeout = std::chrono::hours{1}, .stop = stop.get_token()};
  int attempts = 0;
  try {
    call("X", endless, [&](grpc::ClientContext&) {
      if (++attempts == 2) stop.request_stop();
      return grpc::Status(grpc::UNAVAILABLE, "");
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
  }
  EXPECT_EQ(attempts, 2);
}

TEST(ConnectionAcceptor, LostListenerIsDetected) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::listen(listener, 4), 0);  // at any free port of this machine
  ConnectionAcceptor acceptor({listener}, 10);
  acceptor.start([](int, int connection) { ::close(connection); });
  const std::chrono::hours timeout{1};
  EXPECT_TRUE(acceptor.is_operational(timeout));
  ::shutdown(listener, SHUT_RDWR);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (acceptor.is_operational(timeout) && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_FALSE(acceptor.is_operational(timeout));
}

TEST(UploadBudget, IsCountedPerClientAndInTotalAndReleased) {
  UploadBudget budget(100, 150);
  UploadBudget::Share first(budget, "a");
  first.reserve(80);
  {
    UploadBudget::Share second(budget, "a");
    EXPECT_THROW(second.reserve(21), Error) << "80 + 21 of one client";
    second.reserve(20);
    UploadBudget::Share other(budget, "b");
    EXPECT_THROW(other.reserve(51), Error) << "100 + 51 in total";
    other.reserve(50);
  }
  UploadBudget::Share later(budget, "b");
  later.reserve(70);
}

TEST(Call, ContractMismatchIsRejectedNamingBoth) {
  v1::VersionInfo version;
  version.set_version("9.9.9");
  version.set_contract(7);
  try {
    check_version(version, "fem_server at host:1");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::version_mismatch);
    EXPECT_NE(std::string(error.what()).find("contract 7"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("9.9.9"), std::string::npos) << error.what();
  }
}

TEST(Channel, MissingServerIsReportedAfterTheTimeout) {
  const Endpoint unused{.address = "127.0.0.1:1", .tls = {}};
  const auto channel = make_channel(unused);
  try {
    wait_for_ready(*channel, unused, std::chrono::milliseconds{300});
    FAIL() << "ready";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heelstrike::rpc
