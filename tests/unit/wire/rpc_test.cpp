// Pieces of the RPC plumbing that need no server.
#include <gtest/gtest.h>

#include <cmath>

#include "common/config/digest.hpp"
#include "common/errors/error.hpp"
#include "common/rpc/address.hpp"
#include "common/rpc/call.hpp"
#include "common/rpc/channel.hpp"
#include "common/rpc/latency_histogram.hpp"
#include "common/rpc/ready_line.hpp"

namespace heelstrike::rpc {
namespace {

TEST(Address, BothFormsSurviveParsing) {
  for (const std::string text : {"unix:/run/x.sock", "127.0.0.1:50051", "fem:0", "[::1]:80"}) {
    EXPECT_EQ(parse_address(text).text(), text);
  }
  EXPECT_EQ(parse_address("[::1]:80").host, "::1");
}

TEST(Address, AnythingElseIsRefusedWithAnExample) {
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
  // A bucket is 1/16 of an octave wide; its middle is off by at most 1/32 = 3.2 % of the octave's start.
  EXPECT_NEAR(histogram.quantile_us(0.5), 500.0, 0.032 * 512.0);
  EXPECT_NEAR(histogram.quantile_us(0.99), 990.0, 0.032 * 1024.0);
  EXPECT_EQ(LatencyHistogram().quantile_us(0.5), 0.0);
}

TEST(ReadyLine, AddressesSurvive) {
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

TEST(Call, OnlyUnavailableIsRepeatedAndOnlyAsOftenAsAllowed) {
  int attempts = 0;
  const auto answer = [&](grpc::StatusCode code) {
    return [&attempts, code](grpc::ClientContext&) {
      ++attempts;
      return grpc::Status(code, "no");
    };
  };
  EXPECT_THROW(call("X", {.attempts = 3}, answer(grpc::UNAVAILABLE)), Error);
  EXPECT_EQ(attempts, 3);
  attempts = 0;
  EXPECT_THROW(call("X", {.attempts = 3}, answer(grpc::DEADLINE_EXCEEDED)), Error);
  EXPECT_EQ(attempts, 1);
}

TEST(Call, AnotherContractIsRefusedNamingBoth) {
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

TEST(Channel, NobodyThereIsSaidAfterTheTimeout) {
  const auto channel = make_channel({.address = "127.0.0.1:1", .tls = {}});
  try {
    wait_for_ready(*channel, "127.0.0.1:1", std::chrono::milliseconds{300});
    FAIL() << "ready";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace heelstrike::rpc
