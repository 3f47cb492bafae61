/// A small HTTP server with its own threads, for pages that a person or a scraper reads.
///
/// A connection is one request: it has to be there in full, head and body, within `request_timeout` and
/// `max_request_bytes`, whatever its pace and however its body is sent, and its answer has to be taken within
/// `response_timeout`. Each connection has a thread, up to `max_connections`; more wait for at most those times.
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

  /// @param port  0 = any free one. @returns the port, bound exclusively. Connections wait until run(). @throws
  /// Error{unavailable} if the address is not available
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
