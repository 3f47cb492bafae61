/// The messages of one Exchange call over a separate Unix socket, for two processes on one machine.
///
/// A short exchange through HTTP/2 costs at least 80 us for passing messages between threads, framing and flow control
/// of many calls. A separate socket for the messages avoids this cost. The call itself remains a gRPC call: it
/// identifies the client, is limited and counted, can be cancelled, and ends with a status. A client connects to the
/// socket beside that of the server and receives a ticket, which it presents with its call (docs/theory/coupling.md,
/// section "The wire").
///
/// A message consists of its length, four bytes in native byte order, and that many bytes, the last of which are its
/// checksum.
#pragma once

#include <google/protobuf/message_lite.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "common/process/process.hpp"
#include "rpc/address.hpp"
#include "rpc/wire/checksum.hpp"

namespace heelstrike::rpc {

/// Metadata key of the ticket of a call.
inline constexpr const char* ticket_metadata = "heelstrike-exchange-ticket";
/// Bytes of a ticket.
inline constexpr std::size_t ticket_bytes = 32;

/// The path of the socket for messages beside a server's Unix socket.
[[nodiscard]] std::string message_socket_path(const Address& server);

/// Used by one thread, except shut_down.
class MessageSocket {
 public:
  using Deadline = std::chrono::system_clock::time_point;
  enum class Outcome { done, lost, timed_out, too_large, damaged };

  /// @param connected          a non-blocking socket @param max_message_bytes  limit of messages of the other end
  MessageSocket(Descriptor connected, std::size_t max_message_bytes);

  /// Sends the whole message. After any outcome but `done` the socket is unusable.
  /// @param message  without its checksum, which is added
  [[nodiscard]] Outcome send(const google::protobuf::MessageLite& message, Deadline deadline);
  /// Waits for the next message, at first spinning (CallOperations::spin_time). `timed_out` leaves the socket usable; a
  /// partial message is kept for the next call.
  template <wire::Checksummed Message>
  [[nodiscard]] Outcome receive(Message& message, Deadline deadline) {
    const Outcome outcome = receive_message(message, deadline);
    if (outcome != Outcome::done) return outcome;
    const std::uint64_t sent = message.checksum();
    message.clear_checksum();
    return checksums_.intact(sent, arrived_checksum_) ? Outcome::done : Outcome::damaged;
  }
  /// Ends the waits of both ends, from any thread; their messages are lost.
  void shut_down() noexcept;

 private:
  [[nodiscard]] Outcome receive_message(google::protobuf::MessageLite& message, Deadline deadline);
  /// True if more than one message of the largest size has arrived: the rest stays in the socket and blocks its sender.
  [[nodiscard]] bool is_full() const { return n_arrived_ > sizeof(std::uint32_t) + max_message_bytes_; }
  /// Reads available data. False = the other end has closed.
  [[nodiscard]] bool receive_arrived();
  /// Blocks until the socket is ready for one of `events`; false = deadline passed.
  [[nodiscard]] bool sleep_for(short events, Deadline deadline) const;
  [[nodiscard]] Outcome parse_arrived(google::protobuf::MessageLite& message, bool& complete);

  Descriptor socket_;
  std::size_t max_message_bytes_;
  std::string outgoing_;
  std::string arrived_;  ///< full capacity; the first `n_arrived_` bytes are valid
  std::size_t n_arrived_ = 0;
  std::uint64_t arrived_checksum_ = 0;  ///< of the last received message
  wire::ChecksumMonitor checksums_;
};

/// A socket and its ticket.
struct TicketedSocket {
  std::unique_ptr<MessageSocket> socket;
  std::string ticket;
};

/// Connects to the socket for messages of a server on this machine. Null if there is none, e.g. at an older server, or
/// without response within `reconnect_timeout`: the call then carries its messages itself.
[[nodiscard]] TicketedSocket connect_message_socket(const Address& server, std::size_t max_message_bytes,
                                                    std::chrono::milliseconds timeout);

/// Server side: an unpredictable ticket. @return empty if the system has no random numbers
[[nodiscard]] std::string make_ticket();
/// Sends it to a new connection. @return false if the client has disconnected
[[nodiscard]] bool send_ticket(int connection, const std::string& ticket);

}  // namespace heelstrike::rpc
