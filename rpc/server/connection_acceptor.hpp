/// Accepts the connections of a server and hands them on, whatever happens to descriptors.
///
/// The listener of gRPC 1.51 stops for good when accept() fails once, and accept() fails when a process is out of
/// descriptors: who opened enough idle connections would have made a server deaf for ever.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <unordered_map>
#include <vector>

namespace heelstrike::rpc {

class ConnectionAcceptor {
 public:
  /// Gets a listening socket and a new connection, which it owns from then on.
  using OnConnection = std::function<void(int listener, int connection)>;

  /// @param listeners        sockets that listen, owned by this object
  /// @param max_connections  open at a time; further ones are closed at once
  ConnectionAcceptor(std::vector<int> listeners, std::size_t max_connections);
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  /// Accepts from now on, in a thread of its own.
  void start(OnConnection on_connection);
  /// Accepts no more and closes the listening sockets.
  void stop();
  /// False once the listening sockets do not work any more, or nobody has looked at them for `patience`.
  [[nodiscard]] bool is_operational(std::chrono::milliseconds timeout) const;

 private:
  using Clock = std::chrono::steady_clock;

  void serve();
  /// @returns false when the listener is beyond help
  bool accept_connection(int listener);
  bool recover_from(int listener, int failure);
  [[nodiscard]] bool is_below_limit(int connection);
  void note_refusal(const char* why);
  void record_iteration() { last_iteration_.store(Clock::now().time_since_epoch().count()); }

  std::vector<int> listeners_;
  std::size_t max_connections_;
  int max_descriptor_;  ///< descriptors are given out from below: this number says how many are in use
  int wake_;                ///< an event that ends the waiting
  int reserve_descriptor_;               ///< given up to accept a connection when there is no other descriptor, in order to close it
  OnConnection on_connection_;
  std::unordered_map<int, ino_t> open_connections_;  ///< descriptor -> socket, as it was when it was handed on
  std::size_t n_rejected_ = 0;                 ///< since the last line in the log
  Clock::time_point last_line_{};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  std::atomic<Clock::rep> last_iteration_;
  std::thread thread_;
};

}  // namespace heelstrike::rpc
