/// The messages of one Exchange call over a Unix socket of their own, for two processes on one machine.
///
/// A light exchange through HTTP/2 costs 80 us and more: threads that hand a message to one another, framing and flow
/// control for many calls at once. A call whose messages have a socket to themselves needs none of this. The call
/// itself stays one of gRPC: it says who asks, is limited and counted, is cancelled, and ends with a status. A client
/// connects to the socket beside that of the server and is given a ticket, which it presents with its call
/// (docs/theory/coupling.md, section "The wire").
///
/// A message is its length, four bytes in the order of the machine, and that many bytes, of which the last are its
/// checksum.
#pragma once

#include <google/protobuf/message_lite.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/process/descriptor.hpp"
#include "rpc/address.hpp"
#include "rpc/wire/checksum.hpp"

namespace heelstrike::rpc {

/// Metadata of a call that brings a ticket.
inline constexpr const char* ticket_metadata = "heelstrike-exchange-ticket";
/// Bytes of a ticket.
inline constexpr std::size_t ticket_bytes = 32;

/// The path of the socket for messages beside a server's Unix socket.
[[nodiscard]] std::string message_socket_path(const Address& server);

/// Used by one thread, but for shut_down.
class MessageSocket {
 public:
  using Deadline = std::chrono::system_clock::time_point;
  enum class Outcome { done, lost, timed_out, too_large, damaged };

  /// @param connected          a socket that does not block
  /// @param max_message_bytes  longer messages of the other end are too large
  MessageSocket(Descriptor connected, std::size_t max_message_bytes);

  /// Sends the whole message. After any outcome but `done` the socket is of no more use.
  /// @param message  without its checksum, which is added on the way
  [[nodiscard]] Outcome send(const google::protobuf::MessageLite& message, Deadline deadline);
  /// Waits for the next message, awake for a moment (CallOperations::awake). `timed_out` leaves the socket as it is;
  /// what has arrived of a message is kept for the next call.
  template <wire::Checksummed Message>
  [[nodiscard]] Outcome receive(Message& message, Deadline deadline) {
    const Outcome outcome = receive_message(message, deadline);
    if (outcome != Outcome::done) return outcome;
    const std::uint64_t sent = message.checksum();
    message.clear_checksum();
    return checksums_.intact(sent, arrived_checksum_) ? Outcome::done : Outcome::damaged;
  }
  /// Ends the waiting of both ends, from any thread: their messages are lost.
  void shut_down() noexcept;

 private:
  [[nodiscard]] Outcome receive_message(google::protobuf::MessageLite& message, Deadline deadline);
  /// More than one message of the largest size has arrived: the rest waits on the socket, and its sender with it.
  [[nodiscard]] bool is_full() const { return n_arrived_ > sizeof(std::uint32_t) + max_message_bytes_; }
  /// Takes what has arrived. False = the other end is gone.
  [[nodiscard]] bool take_arrived();
  /// Sleeps until the socket is ready for one of `events`; false = deadline passed.
  [[nodiscard]] bool sleep_for(short events, Deadline deadline) const;
  [[nodiscard]] Outcome parse_arrived(google::protobuf::MessageLite& message, bool& complete);

  Descriptor socket_;
  std::size_t max_message_bytes_;
  std::string outgoing_;
  std::string arrived_;  ///< whole capacity; the first `n_arrived_` bytes mean something
  std::size_t n_arrived_ = 0;
  std::uint64_t arrived_checksum_ = 0;  ///< of the bytes of the message that was received last
  wire::ChecksumMonitor checksums_;
};

/// A socket and what the server knows it by.
struct TicketedSocket {
  std::unique_ptr<MessageSocket> socket;
  std::string ticket;
};

/// Connects to the socket for messages of a server on this machine. Null where there is none, as with a server of an
/// older version, or none answers within `patience`: the call then carries its messages itself.
[[nodiscard]] TicketedSocket connect_message_socket(const Address& server, std::size_t max_message_bytes,
                                                    std::chrono::milliseconds reconnect_timeout);

/// The server's end: a ticket that nobody can guess. @return empty when the system has no random numbers
[[nodiscard]] std::string make_ticket();
/// Gives it to a new connection. @return false when the client is gone
[[nodiscard]] bool send_ticket(int connection, const std::string& ticket);

}  // namespace heelstrike::rpc
