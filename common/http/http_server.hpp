/// A small HTTP server with its own threads, for pages that a person or a scraper reads.
///
/// A connection carries one request. The complete request, header and body, is limited by `request_timeout` and
/// `max_request_bytes` for every transfer encoding, its response by `response_timeout`. Each connection has a thread,
/// up to `max_connections`; further ones wait for at most those times.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

namespace heelstrike {

/// Order of calls: add handlers to routes(), bind(), run(). The destructor completes the current requests and stops.
/// Handlers run on several threads and must outlive this object.
class HttpServer {
 public:
  static constexpr std::chrono::milliseconds request_timeout{5'000};
  static constexpr std::chrono::milliseconds response_timeout{10'000};
  static constexpr std::size_t max_request_bytes = 16'384;
  static constexpr std::size_t max_connections = 128;

  HttpServer();
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] httplib::Server& routes() { return http_; }

  /// @param port  0 = any free one.
  /// @returns the port, bound exclusively. Connections wait until run().
  /// @throws Error{unavailable} if the address is not available
  int bind(const std::string& host, int port);

  void run();

 private:
  /// Serves one connection; with the default of httplib a client could prolong it without limit.
  class SingleRequestServer : public httplib::Server {
   private:
    bool process_and_close_socket(socket_t socket) override;
  };

  SingleRequestServer http_;
  std::thread thread_;
};

}  // namespace heelstrike
