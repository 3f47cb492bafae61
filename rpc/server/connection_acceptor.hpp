/// Accepts the connections of a server and passes them on, even without free descriptors.
///
/// The listener of gRPC 1.51 stops permanently when accept() fails once, and accept() fails without free descriptors: a
/// client could disable a server by many idle connections.
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
  /// Receives a listening socket and a new connection, which it owns.
  using OnConnection = std::function<void(int listener, int connection)>;

  /// @param listeners        sockets that listen, owned by this object
  /// @param max_connections  open at a time; further ones are closed at once
  ConnectionAcceptor(std::vector<int> listeners, std::size_t max_connections);
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  /// Starts accepting in a separate thread.
  void start(OnConnection on_connection);
  /// Stops accepting and closes the listening sockets.
  void stop();
  /// False after failure of the listening sockets, or without an iteration of the accept loop within `timeout`.
  [[nodiscard]] bool is_operational(std::chrono::milliseconds timeout) const;

 private:
  using Clock = std::chrono::steady_clock;

  void serve();
  /// @returns false if the listener failed permanently
  bool accept_connection(int listener);
  bool recover_from(int listener, int failure);
  [[nodiscard]] bool is_below_limit(int connection);
  void note_rejection(const char* why);
  void record_iteration() { last_iteration_.store(Clock::now().time_since_epoch().count()); }

  std::vector<int> listeners_;
  std::size_t max_connections_;
  int max_descriptor_;      ///< descriptors are assigned in ascending order: this number bounds those in use
  int wake_;                ///< event that wakes the loop
  int reserve_descriptor_;  ///< released to accept and close a connection if no other descriptor is free
  OnConnection on_connection_;
  std::unordered_map<int, ino_t> open_connections_;  ///< descriptor -> socket, when it was passed on
  std::size_t n_rejected_ = 0;                       ///< since the last log line
  Clock::time_point last_line_{};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  std::atomic<Clock::rep> last_iteration_;
  std::thread thread_;
};

/// Raises the soft limit of descriptors to the hard one. @returns the new limit
std::size_t raise_descriptor_limit() noexcept;

/// Descriptors reserved for everything except incoming connections: spool files, caches, helper programs, outgoing
/// connections.
[[nodiscard]] std::size_t reserved_descriptors(std::size_t limit);

}  // namespace heelstrike::rpc
