/// A TCP relay on the loopback that does to connections what networks do: ends, resets in one or both directions, cuts
/// in the middle of a message, refusals for a while.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace heelstrike::testing_support {

enum class Cut { end, reset_client, reset_server, reset_both };

class ChaosProxy {
 public:
  /// @param target  host:port on 127.0.0.1
  explicit ChaosProxy(const std::string& target);
  ~ChaosProxy();
  ChaosProxy(const ChaosProxy&) = delete;
  ChaosProxy& operator=(const ChaosProxy&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Cuts all connections once `bytes` more have come from the servers; 0 = now.
  void cut(Cut kind, std::uint64_t bytes = 0);
  /// Cuts all connections and refuses new ones for `time`.
  void refuse_for(std::chrono::milliseconds time);
  [[nodiscard]] int n_cuts() const;

 private:
  struct Relay {
    int client = -1;
    int server = -1;
  };
  struct Order {
    Cut kind = Cut::end;
    std::uint64_t bytes = 0;
  };

  void serve();
  void listen();
  void accept_one();
  void carry_out_orders();
  /// @returns false when the connection has ended
  bool pass_on(int from, int to, bool from_server);
  void cut_all(Cut kind);

  int target_port_;
  int port_ = 0;
  int listener_ = -1;
  int wake_;
  std::list<Relay> relays_;   ///< of the thread alone
  mutable std::mutex mutex_;  ///< guards what follows
  std::optional<Order> order_;
  std::chrono::steady_clock::time_point refuse_until_{};
  int n_cuts_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace heelstrike::testing_support
