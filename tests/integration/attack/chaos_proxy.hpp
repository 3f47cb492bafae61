/// A TCP relay on the loopback that reproduces network faults: closed connections, resets in one or both directions,
/// half-closed connections, cuts within a message, pauses, temporary rejections.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace heelstrike::testing_support {

enum class Cut {
  end,
  reset_client,
  reset_server,
  reset_both,
  client_only,  ///< the server's side stays open and receives nothing more
  server_only,  ///< the client's side stays open and receives nothing more
  pause,        ///< no cut, only a delay
};

class ChaosProxy {
 public:
  /// @param target  host:port on 127.0.0.1
  explicit ChaosProxy(const std::string& target);
  ~ChaosProxy();
  ChaosProxy(const ChaosProxy&) = delete;
  ChaosProxy& operator=(const ChaosProxy&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Cuts all connections after `bytes` more have arrived from the servers; 0 = immediately.
  /// @param time  duration of rejected connections, or of a pause
  void cut(Cut kind, std::uint64_t bytes = 0, std::chrono::milliseconds time = {});
  /// From now on, data from a server is delayed by this time, and every connection is duplicated: the server receives
  /// the same bytes a second time, as from a repeating network element; its second response is discarded.
  void disturb(std::chrono::milliseconds delay, bool duplicate);
  /// Flips one bit after `bytes` more have passed. @param from_server  in the server's data, else in the client's
  void damage(bool from_server, std::uint64_t bytes, int bit);
  /// Bits that were flipped.
  [[nodiscard]] int n_damages() const;
  /// Connections that were duplicated.
  [[nodiscard]] int n_duplicates() const;
  /// Cuts and pauses that affected a connection.
  [[nodiscard]] int n_cuts() const;

 private:
  struct Relay {
    int client = -1;
    int server = -1;
    int shadow = -1;  ///< duplicate connection to the server; negative = none
  };
  struct Order {
    Cut kind = Cut::end;
    std::uint64_t bytes = 0;
    std::chrono::milliseconds time{};
  };

  void serve();
  void listen();
  void accept_connection();
  [[nodiscard]] int connect_to_server() const;
  void damage_locked(bool from_server, char* bytes, std::size_t n);
  void carry_out_orders();
  void serve_relays();
  /// @returns false when the connection has ended
  bool pass_on(const Relay& relay, bool from_server);
  static void close_all(const Relay& relay);
  void cut_all(Cut kind);

  int target_port_;
  int port_ = 0;
  int listener_ = -1;
  int wake_;
  std::list<Relay> relays_;  ///< this and the next one are used by the thread only
  std::list<int> left_;      ///< sockets whose peer is lost without notice
  std::chrono::steady_clock::time_point paused_until_{};
  mutable std::mutex mutex_;  ///< guards the members below
  std::optional<Order> order_;
  std::chrono::steady_clock::time_point reject_until_{};
  int n_cuts_ = 0;
  int n_duplicates_ = 0;
  std::chrono::milliseconds delay_{};
  bool duplicate_ = false;
  struct Damage {
    bool from_server = false;
    std::uint64_t bytes = 0;
    int bit = 0;
  };
  std::optional<Damage> damage_;
  int n_damages_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace heelstrike::testing_support
