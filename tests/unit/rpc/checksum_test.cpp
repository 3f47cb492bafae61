// A byte that is changed between two programs is detected, for any resulting message.
#include "rpc/wire/checksum.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "heelstrike/v1/contact.pb.h"
#include "heelstrike/v1/simulation.pb.h"
#include "rpc/wire/event_file.hpp"

namespace heelstrike::wire {
namespace {

v1::ExchangeRequest question() {
  v1::ExchangeRequest request;
  request.set_sequence(7);
  auto& pair = *request.add_pairs();
  pair.set_step(3);
  pair.mutable_state()->set_time(0.25);
  pair.mutable_state()->mutable_x_ab()->mutable_position()->set_z(0.1);
  return request;
}

TEST(Checksum, EveryChangedBitIsDetected) {
  v1::ExchangeRequest request = question();
  set_message_checksum(request);
  const std::string bytes = request.SerializeAsString();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    v1::ExchangeRequest received;
    if (!received.ParseFromString(changed)) continue;
    ChecksumMonitor watch;
    ASSERT_TRUE(watch.intact(1, 1)) << "this peer seals its messages";
    const std::uint64_t sent = received.checksum();
    received.clear_checksum();
    EXPECT_FALSE(watch.intact(sent, checksum_of(received))) << bit;
  }
}

TEST(Checksum, DoesNotDependOnTheOrderOfMaps) {
  v1::OpenSessionRequest one;
  v1::OpenSessionRequest other;
  const char* const names[] = {"stiffness", "friction", "damping", "restitution", "element_size", "contact_size"};
  for (const char* name : names) (*one.mutable_pair()->mutable_parameters())[name].set_number(1.0);
  for (auto name = std::rbegin(names); name != std::rend(names); ++name) {
    (*other.mutable_pair()->mutable_parameters())[*name].set_number(1.0);
  }
  set_message_checksum(one);
  v1::OpenSessionRequest received;
  ASSERT_TRUE(received.ParseFromString(one.SerializeAsString()));
  EXPECT_TRUE(verify_checksum(received));
  set_message_checksum(other);
  EXPECT_EQ(one.checksum(), other.checksum());
}

TEST(Checksum, MessagesOfEarlierVersionsHaveNone) {
  v1::ExchangeRequest request = question();
  EXPECT_TRUE(verify_checksum(request));
  ChecksumMonitor watch;
  EXPECT_TRUE(watch.intact(0, 5));
  EXPECT_TRUE(watch.intact(5, 5));
  EXPECT_FALSE(watch.intact(0, 5)) << "a sealed stream has seals on all messages";
}

TEST(Checksum, EventsChangedInTheirFileAreReported) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("heelstrike_events_" + std::to_string(::getpid()));
  std::filesystem::remove(file);
  {
    EventFileWriter writer(file);
    v1::RunEvent event;
    for (std::uint64_t n = 1; n <= 3; ++n) {
      event.set_sequence(n);
      event.mutable_samples()->clear_values();
      for (int i = 0; i < 5; ++i) event.mutable_samples()->add_values(0.1 * static_cast<double>(n));
      writer.append(event);
    }
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  v1::RunEvent event;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    std::ofstream(file, std::ios::binary) << changed;
    EventFileReader reader(file);
    std::uint64_t n = 0;
    try {
      while (reader.next(event)) {
        ++n;
        ASSERT_EQ(event.sequence(), n) << bit;
        ASSERT_EQ(event.samples().values_size(), 5) << bit;
        for (const double value : event.samples().values()) ASSERT_EQ(value, 0.1 * static_cast<double>(n)) << bit;
      }
      EXPECT_LE(n, 3U) << bit;  // of a tag of the seal: the content is correct nevertheless
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::file);
      EXPECT_NE(std::string(error.what()).find(file.string()), std::string::npos) << error.what();
    }
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace heelstrike::wire
