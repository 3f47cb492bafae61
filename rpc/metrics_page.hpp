/// The metrics page for Prometheus: GET /metrics over HTTP, in its text format.
///
/// prometheus-cpp's own Exposer is not used: its web server gives its threads stacks of 100 KiB, in which the
/// thread-local storage of the finite-element libraries (250 KiB) does not fit, so that it cannot start in fem_server.
#pragma once

#include <memory>
#include <string>

namespace prometheus {
class Collectable;
}

namespace heelstrike {

class MetricsPage {
 public:
  /// Serves until destruction.
  /// @param address  "host:port" or "[v6]:port"
  /// @throws Error{unavailable} if the address cannot be bound, Error{invalid_input} if it is invalid
  MetricsPage(const std::string& address, std::shared_ptr<prometheus::Collectable> metrics);
  ~MetricsPage();
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

/// The page at `address`, reported in the log; null if `address` is empty. @throws as MetricsPage
[[nodiscard]] std::unique_ptr<MetricsPage> serve_metrics(const std::string& address,
                                                         std::shared_ptr<prometheus::Collectable> metrics);

}  // namespace heelstrike
