#include "rpc/message_socket.hpp"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "rpc/call.hpp"

namespace heelstrike::rpc {

namespace {

using Length = std::uint32_t;
/// Bytes per read: more than any message of a few pairs.
constexpr std::size_t one_read = 16'384;

/// [ms] until a deadline, for poll(): rounded up, to avoid busy polling before it.
int milliseconds_until(MessageSocket::Deadline deadline) {
  if (deadline == MessageSocket::Deadline::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::system_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

std::string message_socket_path(const Address& server) {
  return server.path + ".messages";
}

MessageSocket::MessageSocket(Descriptor connected, std::size_t max_message_bytes)
    : socket_(std::move(connected)), max_message_bytes_(max_message_bytes) {}

bool MessageSocket::sleep_for(short events, Deadline deadline) const {
  for (;;) {
    pollfd waiting{.fd = socket_.get(), .events = events, .revents = 0};
    const int ready = ::poll(&waiting, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    if (std::chrono::system_clock::now() >= deadline) return false;
  }
}

bool MessageSocket::receive_arrived() {
  while (!is_full()) {
    if (arrived_.size() < n_arrived_ + one_read) arrived_.resize(n_arrived_ + one_read);
    const ssize_t n = ::recv(socket_.get(), arrived_.data() + n_arrived_, arrived_.size() - n_arrived_, MSG_DONTWAIT);
    if (n < 0) return would_block();
    if (n == 0) return false;
    n_arrived_ += static_cast<std::size_t>(n);
    if (n_arrived_ < arrived_.size()) return true;
  }
  return true;
}

MessageSocket::Outcome MessageSocket::parse_arrived(google::protobuf::MessageLite& message, bool& complete) {
  complete = false;
  Length length = 0;
  if (n_arrived_ < sizeof length) return Outcome::done;
  std::memcpy(&length, arrived_.data(), sizeof length);
  if (length > max_message_bytes_) return Outcome::too_large;
  const std::size_t end = sizeof length + length;
  if (n_arrived_ < end) return Outcome::done;
  if (!message.ParseFromArray(arrived_.data() + sizeof length, static_cast<int>(length))) return Outcome::lost;
  arrived_checksum_ = wire::checksum_of_serialised(std::string_view(arrived_).substr(sizeof length, length));
  std::memmove(arrived_.data(), arrived_.data() + end, n_arrived_ - end);
  n_arrived_ -= end;
  complete = true;
  return Outcome::done;
}

MessageSocket::Outcome MessageSocket::send(const google::protobuf::MessageLite& message, Deadline deadline) {
  const std::size_t n = message.ByteSizeLong();
  const auto length = static_cast<Length>(n + wire::checksum_field_bytes);
  outgoing_.resize(sizeof length + length);
  std::memcpy(outgoing_.data(), &length, sizeof length);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(outgoing_.data() + sizeof length));
  wire::write_checksum(outgoing_.data() + sizeof length, n);
  for (std::size_t sent = 0; sent < outgoing_.size();) {
    const ssize_t n =
        ::send(socket_.get(), outgoing_.data() + sent, outgoing_.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    if (!would_block()) return Outcome::lost;
    // Reading here avoids a deadlock of two ends that both send.
    const auto events = static_cast<short>(is_full() ? POLLOUT : POLLIN | POLLOUT);
    if (!sleep_for(events, deadline)) return Outcome::timed_out;
    if (!receive_arrived()) return Outcome::lost;
  }
  return Outcome::done;
}

MessageSocket::Outcome MessageSocket::receive_message(google::protobuf::MessageLite& message, Deadline deadline) {
  const auto spin_end = std::chrono::steady_clock::now() + CallOperations::spin_time;
  for (;;) {
    bool complete = false;
    const Outcome outcome = parse_arrived(message, complete);
    if (complete || outcome != Outcome::done) return outcome;
    const std::size_t before = n_arrived_;
    if (!receive_arrived()) return Outcome::lost;
    if (n_arrived_ > before) continue;
    if (std::chrono::steady_clock::now() < spin_end) {
      std::this_thread::yield();
    } else if (!sleep_for(POLLIN, deadline)) {
      return Outcome::timed_out;
    }
  }
}

void MessageSocket::shut_down() noexcept {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

TicketedSocket connect_message_socket(const Address& server, std::size_t max_message_bytes,
                                      std::chrono::milliseconds timeout) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  const std::string path = message_socket_path(server);
  if (path.size() >= sizeof(target.sun_path)) return {};
  path.copy(target.sun_path, sizeof(target.sun_path) - 1);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0) return {};
  const MessageSocket::Deadline deadline = std::chrono::system_clock::now() + timeout;
  TicketedSocket result;
  while (result.ticket.size() < ticket_bytes) {
    pollfd waiting{.fd = socket.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, milliseconds_until(deadline)) <= 0) return {};
    std::array<char, ticket_bytes> bytes{};
    const ssize_t n = ::recv(socket.get(), bytes.data(), ticket_bytes - result.ticket.size(), MSG_DONTWAIT);
    if (n <= 0) return {};
    result.ticket.append(bytes.data(), static_cast<std::size_t>(n));
  }
  result.socket = std::make_unique<MessageSocket>(std::move(socket), max_message_bytes);
  return result;
}

std::string make_ticket() {
  std::array<unsigned char, ticket_bytes / 2> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) return {};
  constexpr const char* digits = "0123456789abcdef";
  std::string ticket;
  for (const unsigned char byte : random) ticket.append({digits[byte / 16U], digits[byte % 16U]});
  return ticket;
}

bool send_ticket(int connection, const std::string& ticket) {
  const ssize_t n = ::send(connection, ticket.data(), ticket.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return n == static_cast<ssize_t>(ticket.size());
}

}  // namespace heelstrike::rpc
