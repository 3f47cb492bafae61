/// A small HTTP server on a thread of its own, for pages that a person or a scraper reads.
#pragma once

#include <httplib.h>

#include <cstddef>
#include <string>
#include <thread>

namespace heelstrike {

/// Add handlers to routes(), bind(), run(); the destructor answers what is being asked and stops. Handlers run on up to
/// `n_threads` threads and must outlive this object.
class HttpServer {
 public:
  explicit HttpServer(std::size_t n_threads);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] httplib::Server& routes() { return http_; }

  /// @param port  0 = any free one. @returns the port, which nobody else shares. Connections wait until run().
  /// @throws Error{unavailable} when the address cannot be had
  int bind(const std::string& host, int port);

  void run();

 private:
  httplib::Server http_;
  std::thread thread_;
};

}  // namespace heelstrike
