/// Checksums of messages: corruption by a network without TLS is detected as an error.
///
/// The checksum is the field `checksum` of a message (proto/heelstrike/v1/contact.proto), over its bytes without it.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "common/errors/error.hpp"

namespace heelstrike::wire {

/// XXH3, 64 bits: a corruption is undetected with probability 2^-64.
[[nodiscard]] std::uint64_t checksum_of(std::string_view bytes) noexcept;
/// Checksum of a message, maps in the order of their keys.
[[nodiscard]] std::uint64_t checksum_of(const google::protobuf::MessageLite& message);

/// A message whose field `checksum` is number 15 of type fixed64.
template <typename Message>
concept Checksummed = requires(Message message) {
  message.set_checksum(std::uint64_t{});
};

/// Fills in the checksum, before the message is sent.
template <Checksummed Message>
void set_message_checksum(Message& message) {
  message.clear_checksum();
  message.set_checksum(checksum_of(message));
}

/// True if the message matches its checksum or has none. Removes the checksum from the message.
template <Checksummed Message>
[[nodiscard]] bool verify_checksum(Message& message) {
  const std::uint64_t sent = message.checksum();
  message.clear_checksum();
  return sent == 0 || sent == checksum_of(message);
}

/// Checks the messages of one peer: after the first checksum every message must have one.
class ChecksumMonitor {
 public:
  /// @param sent   of the message, 0 = none
  /// @param found  of its bytes
  [[nodiscard]] bool intact(std::uint64_t sent, std::uint64_t found) {
    expected_ = expected_ || sent != 0;
    return sent == found || (sent == 0 && !expected_);
  }

 private:
  bool expected_ = false;
};

/// The bytes of the field in a serialised message: its tag (number 15, eight bytes) and the checksum.
inline constexpr std::size_t checksum_field_bytes = 9;
/// The same for serialised messages. @param bytes  a message without checksum; grows by checksum_field_bytes
void append_checksum(std::string& bytes);
/// The same in place. @param bytes  a message without checksum and checksum_field_bytes more
void write_checksum(char* bytes, std::size_t n_message) noexcept;
/// Checksum at the end of a serialised message, over the bytes before it; 0 = none.
[[nodiscard]] std::uint64_t checksum_of_serialised(std::string_view bytes) noexcept;

/// Field of errors after which a client retries (rpc::is_connection_lost).
inline constexpr const char* checksum_field = "checksum";
/// @param what  "request", "reply"
[[nodiscard]] Error corrupted_message_error(std::string_view what);

/// @throws corrupted_message_error()
template <Checksummed Message>
void require_intact(Message& message, std::string_view what) {
  if (!verify_checksum(message)) throw corrupted_message_error(what);
}

}  // namespace heelstrike::wire
