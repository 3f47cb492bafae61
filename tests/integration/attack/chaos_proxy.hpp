/// A TCP relay on the loopback that does to connections what networks do: ends, resets in one or both directions, ends
/// that only one side hears of, cuts in the middle of a message, pauses, refusals for a while.
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
  client_only,  ///< the server's side stays open and hears nothing more
  server_only,  ///< the client's side stays open and hears nothing more
  pause,        ///< nothing is cut: it only takes time
};

class ChaosProxy {
 public:
  /// @param target  host:port on 127.0.0.1
  explicit ChaosProxy(const std::string& target);
  ~ChaosProxy();
  ChaosProxy(const ChaosProxy&) = delete;
  ChaosProxy& operator=(const ChaosProxy&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Cuts all connections once `bytes` more have come from the servers; 0 = now.
  /// @param time  new connections are refused for so long; a pause lasts so long
  void cut(Cut kind, std::uint64_t bytes = 0, std::chrono::milliseconds time = {});
  /// From now on what comes from a server is passed on so much later, and every connection that is made is made twice:
  /// the server hears the same bytes a second time, as from a network element that repeats itself; what it answers
  /// there reaches nobody.
  void disturb(std::chrono::milliseconds delay, bool duplicate);
  /// Changes one bit once `bytes` more have passed. @param from_server  in what the server sends, else the client
  void damage(bool from_server, std::uint64_t bytes, int bit);
  /// Bits that were changed.
  [[nodiscard]] int n_damages() const;
  /// Connections that were made twice.
  [[nodiscard]] int n_duplicates() const;
  /// Cuts and pauses that met a connection.
  [[nodiscard]] int n_cuts() const;

 private:
  struct Relay {
    int client = -1;
    int server = -1;
    int shadow = -1;  ///< the same server once more; negative = none
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
  std::list<Relay> relays_;  ///< this and the next of the thread alone
  std::list<int> left_;      ///< sockets whose other side has gone without a word
  std::chrono::steady_clock::time_point paused_until_{};
  mutable std::mutex mutex_;  ///< guards what follows
  std::optional<Order> order_;
  std::chrono::steady_clock::time_point refuse_until_{};
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
