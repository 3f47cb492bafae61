/// A TCP relay that can cut its connections: a lost network between two running processes.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace heelstrike::testing_support {

class CuttingProxy {
 public:
  /// @param target  host:port on 127.0.0.1
  explicit CuttingProxy(const std::string& target);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  [[nodiscard]] std::string address() const;
  /// Breaks all connections; new ones are served.
  void cut();
  [[nodiscard]] int n_connections() const { return n_connections_; }

 private:
  void accept_connections();
  void relay(int from, int to);

  int target_port_;
  int listener_;
  std::atomic<int> n_connections_{0};
  std::mutex mutex_;  ///< guards sockets_ and relays_
  std::vector<int> sockets_;
  std::vector<std::thread> relays_;
  std::thread acceptor_;
};

}  // namespace heelstrike::testing_support
